"""What the browser asks for."""

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.tasks import email_users


@csrf_exempt
@transaction.atomic
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make a user and promise a mail, both or neither: they are in one transaction."""
    address = request.POST["email"]
    user = User.objects.create_user(username=address, email=address)
    mail = email_users.enqueue(emails=[address], subject="Welcome", message=f"You are user {user.pk}.")
    if not address.endswith("@example.com"):
        transaction.set_rollback(True)
        return HttpResponseBadRequest("only example.com may sign up")
    return JsonResponse({"user": user.pk, "mail": mail.id}, status=201)


def result(_request: HttpRequest, result_id: str) -> HttpResponse:
    """Tell what has become of a mail."""
    found = email_users.get_result(result_id)
    sent = found.return_value if found.status == "SUCCESSFUL" else None
    return JsonResponse({"status": found.status, "attempts": found.attempts, "sent": sent})
