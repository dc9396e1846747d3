"""Calls of a server, over a connection that is kept."""

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from rowmq.core.errors import InvalidMessage, StoreUnavailable
from rowmq.stores.grpc.trouble import AWAY, by_code, told

SERVICE = "rowmq.v1.RowMQ"
LARGEST = 64 * 2**20
"""How many bytes a request may have."""
PAUSES = (0.05, 0.5)
"""Seconds before a call that may be repeated is made again."""
OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and how to talk to it. The token is nobody else's business."""

    host: str
    port: int
    secure: bool = False
    token: str | None = field(default=None, repr=False)
    authority: str | None = None
    """A file of certificates to trust instead of the system's."""
    timeout: float = 30.0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Transport:
    """Calls methods. Threads may share it; a forked child connects anew."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._metadata = (("authorization", f"Bearer {address.token}"),) if address.token else ()
        self._closed = False
        self._channel: Any = None
        self._owner = 0

    def __repr__(self) -> str:
        return f"<server {self._address}>"

    def close(self) -> None:
        """Give back the connection."""
        self._closed = True
        if self._channel is not None and self._owner == os.getpid():
            self._channel.close()

    def ask(
        self,
        method: str,
        asked: Any,
        gives: Any,
        *,
        wait: float = 0.0,
        again: bool = False,
        changes: bool = True,
    ) -> Any:
        """The answer to a call. Raises RowMQError.

        ``again`` says that the call does no harm if it is repeated, as is done after a lost reply, and
        ``changes`` that it changes something, so that a lost reply leaves a doubt.
        """
        _check_size(asked)
        call = self._connected().unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=type(asked).SerializeToString,
            response_deserializer=gives.FromString,
        )
        tries = (*PAUSES, None) if again or not changes else (None,)
        for pause in tries:
            try:
                return call(asked, timeout=self._address.timeout + wait, metadata=self._metadata)
            except grpc.RpcError as error:
                named = told(error)
                if named is not None:
                    raise named from None
                if pause is None or error.code() not in AWAY:
                    raise by_code(error, str(self._address), changes=changes) from None
                time.sleep(pause)
        raise AssertionError  # the last try has answered or raised

    def _connected(self) -> Any:
        if self._closed:
            raise StoreUnavailable("this store was closed")
        if self._channel is None or self._owner != os.getpid():
            self._owner, self._channel = os.getpid(), self._connect()
        return self._channel

    def _connect(self) -> Any:
        if not self._address.secure:
            return grpc.insecure_channel(str(self._address), options=OPTIONS)
        path = self._address.authority
        roots = None if path is None else Path(path).read_bytes()
        return grpc.secure_channel(str(self._address), grpc.ssl_channel_credentials(roots), options=OPTIONS)


def _check_size(asked: Any) -> None:
    """Refuse what every server would turn away, as it would if it were tried again."""
    size = asked.ByteSize()
    if size > LARGEST:
        raise InvalidMessage(f"a request over gRPC has at most {LARGEST} bytes, this one has {size}; cut it")
