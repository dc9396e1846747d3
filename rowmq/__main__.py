"""``python -m rowmq`` is the command line."""

from rowmq.doors.cli import main

if __name__ == "__main__":
    main()
