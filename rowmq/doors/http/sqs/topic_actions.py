"""The operations of SNS."""

from collections.abc import Mapping

from rowmq.doors.http.sqs.actions import Action

TOPIC_ACTIONS: Mapping[str, Action] = {}
