"""The table of methods: what each takes and gives, and the right that it needs."""

import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from grpc import StatusCode

from rowmq.core.errors import QueueNotFound, RowMQError
from rowmq.doors.grpc.call import Broker, Call, Context
from rowmq.doors.grpc.status import status_of
from rowmq.doors.right import Right
from rowmq.stores.grpc.trouble import ERROR, QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of a service.

    ``over`` gives the names of queues and topics that the right is needed on. Without it the names are
    not known beforehand, and the method itself demands the right on each.
    """

    name: str
    handle: Callable[[Call, Any], Any]
    request: Any
    response: Any
    right: Right
    over: Callable[[Any], Iterable[str]] | None = None
    streams_in: bool = False
    streams_out: bool = False

    def handler(self, broker: Broker) -> "grpc.RpcMethodHandler[Any, Any]":
        """The method as gRPC wants it."""
        kinds = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        make: Any = kinds[self.streams_in, self.streams_out]
        answer = self._streaming(broker) if self.streams_out else self._single(broker)
        found: grpc.RpcMethodHandler[Any, Any] = make(
            answer,
            request_deserializer=self.request.FromString,
            response_serializer=self.response.SerializeToString,
        )
        return found

    def _single(self, broker: Broker) -> Callable[[Any, Context], Any]:
        async def answer(request: Any, context: Context) -> Any:
            with self._observed(broker) as codes:
                try:
                    return await self.handle(self._allowed(broker, context, request), request)
                except Exception as error:  # noqa: BLE001 - whatever it is, the caller is told
                    await refuse(context, error, codes)

        return answer

    def _streaming(self, broker: Broker) -> Callable[[Any, Context], Any]:
        async def answer(requests: Any, context: Context) -> AsyncIterator[Any]:
            with self._observed(broker) as codes:
                try:
                    async for response in self.handle(self._allowed(broker, context, requests), requests):
                        yield response
                except Exception as error:  # noqa: BLE001 - whatever it is, the caller is told
                    await refuse(context, error, codes)

        return answer

    @contextmanager
    def _observed(self, broker: Broker) -> Iterator[list[StatusCode]]:
        """Have the call counted when it is over; a caller who went away gets no code from us."""
        started = time.perf_counter()
        codes = [StatusCode.CANCELLED]
        try:
            yield codes
            codes.append(StatusCode.OK)
        finally:
            broker.observe(self.name, codes[-1].name, time.perf_counter() - started)

    def _allowed(self, broker: Broker, context: Context, request: Any) -> Call:
        """The call, if its caller has the right: the one place where that is asked."""
        call = broker.call(context)
        if self.over is not None:
            call.demand(self.right, *self.over(request))
        return call


def service(name: str, methods: Sequence[Method], broker: Broker) -> grpc.GenericRpcHandler:
    """A service made of a table of methods."""
    return grpc.method_handlers_generic_handler(name, {each.name: each.handler(broker) for each in methods})


async def refuse(context: Context, error: Exception, codes: list[StatusCode]) -> NoReturn:
    """End the call with the status of an error, and with its name for those who know our errors."""
    code, sentence = status_of(error)
    codes.append(code)
    told: list[tuple[str, str | bytes]] = list(context.trailing_metadata() or ())
    if isinstance(error, RowMQError):
        told.append((ERROR, type(error).__name__))
    if isinstance(error, QueueNotFound):
        told.append((QUEUE, error.name.encode(errors="replace")))
    await context.abort(code, sentence, tuple(told))
    raise AssertionError  # abort has raised
