"""Settings of Spark sessions that last as long as a test: with so little data, compiling takes longest."""

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The JVM's first compiler is quick enough, and the collector takes one thread."""
QUICK = {
    "spark_driver_extraJavaOptions": JAVA,
    "spark_sql_codegen_wholeStage": "false",
    "spark_sql_codegen_factoryMode": "NO_CODEGEN",
    "spark_sql_shuffle_partitions": "1",
    "spark_sql_adaptive_enabled": "false",
}
