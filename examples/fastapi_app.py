"""A FastAPI service that pushes in the transaction of its request, and works off the queue beside it.

Run it with ``uvicorn examples.fastapi_app:app``; ``examples/fastapi_app.py`` alone runs the worker by itself.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import rowmq

URL = os.environ.get("ROWMQ_URL", "sqlite:///shop.db")
engine = create_engine(URL)
mq = rowmq.connect(URL)
emails = mq.queue("emails", max_attempts=3)


class Base(DeclarativeBase):
    """The tables of this service."""


class Order(Base):
    """Something that was ordered."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    item: Mapped[str]
    confirmed: Mapped[bool] = mapped_column(default=False)


class NewOrder(BaseModel):
    """What a customer sends."""

    item: str
    amount: int


@mq.task(queue="emails")
def confirm(order: int) -> None:
    """Confirm an order: a worker runs this."""
    with Session(engine) as session, session.begin():
        session.get_one(Order, order).confirmed = True


def transaction() -> Iterator[Session]:
    """One transaction a request: it commits if the request goes well."""
    with Session(engine) as session, session.begin():
        yield session


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Work beside the service while it is up, unless WORKER=0 says that others do."""
    Base.metadata.create_all(engine)
    worker = mq.worker(concurrency=4) if os.environ.get("WORKER", "1") == "1" else None
    if worker:
        worker.start()
    yield
    if worker:
        worker.stop(timeout=10)


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
def place(
    new: NewOrder, session: Annotated[Session, Depends(transaction, scope="function")]
) -> dict[str, str]:
    """Store an order and push its confirmation, both or neither."""
    order = Order(item=new.item)
    session.add(order)
    session.flush()
    pushed = confirm.options(tx=session).push(order.id)
    if new.amount < 1:  # too late to take anything back by hand, and there is no need to
        raise HTTPException(422, "an amount is at least 1")
    return {"order": str(order.id), "message": str(pushed.id)}


@app.post("/newsletter", status_code=202)
async def newsletter(address: str) -> dict[str, str]:
    """Push from async code: a thread waits for the database, the event loop does not."""
    id = await emails.aio.push({"to": address}, metadata={"kind": "newsletter"}, delay=3600)
    return {"message": str(id)}


@app.get("/messages/{id}")
async def message(id: UUID) -> dict[str, str]:
    """Tell what has become of a message."""
    record = await mq.aio.get(id)
    if record is None:
        raise HTTPException(404, "no such message")
    return {"state": record.state}


if __name__ == "__main__":
    mq.work(concurrency=4)
