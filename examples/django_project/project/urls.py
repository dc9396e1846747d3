"""Two pages: sign up, and what has become of the mail."""

from accounts import views
from django.urls import path

urlpatterns = [path("signup", views.sign_up), path("results/<str:result_id>", views.result)]
