"""The tasks of this app, as Django's documentation writes them."""

import logging

from django.core.mail import send_mail

try:
    from django.tasks import TaskContext, task
except ImportError:  # before Django 6
    from django_tasks import TaskContext, task

logger = logging.getLogger(__name__)


@task(priority=2, queue_name="emails")
def email_users(emails: list[str], subject: str, message: str) -> int:
    """Send a mail; how many were sent."""
    return send_mail(subject=subject, message=message, from_email=None, recipient_list=emails)


@task(takes_context=True)
def count_attempts(context: TaskContext, failing: int) -> int:
    """Fail so many times before it goes well."""
    logger.info("attempt %s of task result %s", context.attempt, context.task_result.id)
    if context.attempt <= failing:
        raise ConnectionError(f"attempt {context.attempt}")
    return context.attempt


@task
async def shout(text: str) -> str:
    """Coroutine functions are tasks too."""
    return text.upper()
