// What pages do beyond links and forms. All of them work without it; with it they stay current.
"use strict";

(() => {
  const busy = () => {
    const at = document.activeElement;
    const main = document.querySelector("main");
    return (at !== main && main.contains(at)) || document.querySelector("main details[open]") !== null;
  };

  // A button that asks: the first field has the focus, Escape and a click elsewhere close it.
  const close = (ask, focus) => {
    ask.open = false;
    if (focus) ask.querySelector("summary").focus();
  };
  // The focus stays in an open form, and goes round in it.
  const stay = (ask, event) => {
    const inside = [...ask.querySelectorAll("form input:not([type=hidden]), form select, form textarea, form button, form a")];
    const place = inside.indexOf(document.activeElement);
    const end = event.shiftKey ? 0 : inside.length - 1;
    if (place !== -1 && place !== end) return;
    event.preventDefault();
    inside[event.shiftKey ? inside.length - 1 : 0].focus();
  };
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches("details.ask") || !event.target.open) return;
    for (const other of document.querySelectorAll("details.ask[open]")) {
      if (other !== event.target) close(other, false);
    }
    const first = event.target.querySelector("form input:not([type=hidden]), form select, form textarea, form button");
    if (first) first.focus();
  }, true);
  document.addEventListener("click", (event) => {
    const cancel = event.target.closest("[data-close]");
    if (cancel) close(cancel.closest("details.ask"), true);
    for (const ask of document.querySelectorAll("details.ask[open]")) {
      // The shade around an open form belongs to the element itself.
      if (!ask.contains(event.target) || event.target === ask) close(ask, event.target === ask);
    }
  });
  document.addEventListener("keydown", (event) => {
    const ask = document.querySelector("details.ask[open]");
    if (event.key === "Escape" && ask) close(ask, true);
    if (event.key === "Tab" && ask) stay(ask, event);
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, textarea, select")) {
      const search = document.querySelector("main input[type=search]") || document.querySelector("input[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
      }
    }
  });
  // A form that was sent is not sent twice.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) event.preventDefault();
    event.target.dataset.sent = "yes";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // Live: the server says which elements have changed.
  const from = document.body.dataset.live;
  const pulse = document.getElementById("pulse");
  if (!from || !window.EventSource || !pulse) return;
  const tell = (on) => {
    pulse.className = on ? "pulse on" : "pulse off";
    pulse.textContent = on ? pulse.dataset.live : pulse.dataset.lost;
  };
  const flash = (element) => {
    element.classList.remove("flash");
    void element.offsetWidth;
    element.classList.add("flash");
  };
  const drawn = (markup) => new DOMParser().parseFromString(markup, "text/html").body.childNodes;
  const change = ([id, kind, value, looks]) => {
    const element = document.getElementById(id);
    if (!element || element.contains(document.activeElement) || element.querySelector("details[open]")) return;
    if (looks !== null && element.className !== looks) element.className = looks;
    if (kind === "html") {
      element.replaceChildren(...drawn(value));
    } else if (element.textContent !== value) {
      element.textContent = value;
      if (!id.endsWith("oldest")) flash(element);
    }
  };
  const reload = () => {
    if (busy() || document.hidden) document.getElementById("stale").hidden = false;
    else location.reload();
  };
  let source = null;
  // A browser comes again by itself, but not to a server that has said no: that may change, too.
  const again = () => {
    source = null;
    setTimeout(() => {
      if (!source && !document.hidden) listen();
    }, 5000);
  };
  const listen = () => {
    source = new EventSource(from);
    source.addEventListener("open", () => tell(true));
    source.addEventListener("error", () => {
      tell(false);
      if (source && source.readyState === EventSource.CLOSED) again();
    });
    source.addEventListener("change", (event) => {
      tell(true);
      JSON.parse(event.data).forEach(change);
    });
    source.addEventListener("stale", reload);
    source.addEventListener("trouble", (event) => {
      tell(false);
      pulse.textContent = JSON.parse(event.data);
    });
    source.addEventListener("over", () => {
      source.close();
      location.reload();
    });
  };
  // Nobody looks at a hidden page, so the server need not read for it.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && source) {
      source.close();
      source = null;
    } else if (!document.hidden && !source) {
      listen();
    }
  });
  if (!document.hidden) listen();
})();
