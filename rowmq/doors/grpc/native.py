"""RowMQ's own interface: the table of its methods."""

from rowmq.doors.grpc import messages, places, stream
from rowmq.stores.grpc import rowmq_pb2 as wire

NAME = wire.DESCRIPTOR.services_by_name["RowMQ"].full_name
METHODS = (*messages.METHODS, stream.METHOD, *places.METHODS)
