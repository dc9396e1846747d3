"""Text that would run, load or rewrite something if a page took it for anything but text."""

from collections.abc import Sequence
from datetime import timedelta

from rowmq.core.delivery import Settlement, Want
from rowmq.core.history import Schedule
from rowmq.core.outcome import Ack, Bury, Outcome, Retry
from rowmq.runtime.client import Client
from rowmq.stores.fresh import message

MARK = "ROWMQ_RAN"
"""What a script sets that should not have run."""
RUN = f"window.{MARK}=1"
ELSEWHERE = "https://elsewhere.invalid/x"
TEXTS = (
    f"<script>{RUN}</script>",
    f"<SCRIPT SRC={ELSEWHERE}></SCRIPT>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"</script><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</pre></details><script>{RUN}</script>",
    f"</select><option><img src=x onerror={RUN}>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror=&#119;indow.{MARK}=1>",
    f"<img/src=x/onerror={RUN}//",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<math><mtext><style><img src=x onerror={RUN}></style></mtext></math>",
    f"<body onload={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<iframe src=javascript:parent.{MARK}=1></iframe>",
    f'<iframe srcdoc="<script>parent.{MARK}=1</script>"></iframe>',
    f"<object data={ELSEWHERE}></object>",
    f"<a href=javascript:{RUN}>click</a>",
    f"javascript:{RUN}",
    f"JaVaScRiPt://%0a{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x="',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}' x='",
    f"` onfocus={RUN} autofocus `",
    f'"><script>{RUN}</script>',
    f"'><script>{RUN}</script>",
    f"--><script>{RUN}</script><!--",
    f"]]><script>{RUN}</script><![CDATA[",
    "{{7*7}}{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    f"${{{RUN}}}#{{{RUN}}}<%= 7*7 %>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
    f"&#60;script&#62;{RUN}&#60;/script&#62;",
    f"&quot; onfocus=&quot;{RUN}",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"<style>@import '{ELSEWHERE}';</style>",
    f"<link rel=stylesheet href={ELSEWHERE}>",
    f"<div style=\"background:url('{ELSEWHERE}')\">",
    f'<meta http-equiv="refresh" content="0;url={ELSEWHERE}">',
    f'<base href="{ELSEWHERE}/">',
    f"<form action={ELSEWHERE}><button autofocus>",
    f"\u2028{RUN}\u2029<script>\u2028{RUN}</script>",
    f"\u202e<script>{RUN}</script>\u202d",
    f"\ufeff\u200b<script>{RUN}</script>",
    f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e",
    f"+ADw-script+AD4-{RUN}+ADw-/script+AD4-",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f"<template><script>{RUN}</script></template>",
    f"<x{'<' * 60}script>{RUN}</script>",
)
CONTROLS = (
    f"a\x00<script>{RUN}</script>",
    f"\x1b]0;<script>{RUN}</script>\x07",
    f"\r\n\r\n<script>{RUN}</script>",
    "\ud800<b>",
)
"""The same with characters that names do not have."""
NAMES = [text[:255] for text in TEXTS]


def fill(mq: Client, names: Sequence[str] = NAMES) -> None:
    """Put hostile text, or other names, into everything that a store keeps."""
    for name in names:
        named(mq, name)
    victim(mq, names)
    controls(mq)


def named(mq: Client, name: str) -> None:
    """A queue of this name, with a message whose every text is that."""
    mq.store.queues.put(name, {"tags": {name: name}, "max_attempts": 3})
    about = {name: name, "rowmq.replay_of": name, "rowmq.copy_of": name}
    mq.queue(name).push({name: name, "list": [name, {"deep": name}]}, metadata=about, group=name, key=name)
    settled(mq, name, Retry(error=f"{name}\n{name}"), name)
    trace = f"Traceback (most recent call last):\n  {name}\n{name}"
    settled(mq, name, Bury(error=trace), name)


def victim(mq: Client, names: Sequence[str]) -> None:
    """A queue to which everything hostile belongs."""
    mq.store.queues.put("victim", {"dead_letter": names[0], "tags": dict.fromkeys(names, names[0])})
    for name in names:
        said = message(name)
        mq.store.topics.bind(name, "victim")
        mq.store.consumers.beat("victim", name, timedelta(hours=1))
        mq.store.schedules.put(
            Schedule(name=name, queue="victim", spec=name, message=said, next_at=mq.store.now())
        )
        mq.queue("victim").push(name.encode())
    for name in names[::2]:
        settled(mq, "victim", Ack(result=message([name]).body), name)
    for name in names[1::3]:
        mq.store.claim("victim", [Want(consumer=name, share=False)])


def controls(mq: Client) -> None:
    """A queue of messages with characters that no name has."""
    for text in CONTROLS:
        plain = text.replace("\x00", "").encode(errors="replace").decode()
        mq.queue("controls").push([text, {text: text}], metadata={plain: plain})
        settled(mq, "controls", Bury(error=text), "one")
        mq.queue("controls").push(text.encode(errors="surrogatepass"), priority=1)
        settled(mq, "controls", Ack(), "one")


def settled(mq: Client, queue: str, outcome: Outcome, consumer: str) -> None:
    """Claim a message and settle it."""
    ((delivery,),) = mq.store.claim(queue, [Want(consumer=consumer, share=False)])
    mq.store.settle([Settlement(delivery.receipt, outcome)])
