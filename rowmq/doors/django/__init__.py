"""Django's tasks on RowMQ: put ``rowmq.doors.django`` in INSTALLED_APPS and name the backend in TASKS.

::

    TASKS = {"default": {"BACKEND": "rowmq.doors.django.backend.RowMQBackend"}}

Without a ``url`` the messages are in Django's own database. ``manage.py migrate`` makes the tables,
``manage.py rowmq_worker`` runs the tasks; see docs/frameworks.md.
"""
