// What every adapter in JavaScript shares: the protocol with the runner (see serve.py), and the clock.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// Packages are looked up in the system's own environment, which is not where this file is.
export const load = createRequire(join(process.env.PEERS_HOME, "package.json"));
export const version = (name) =>
  JSON.parse(readFileSync(join(process.env.PEERS_HOME, "node_modules", name, "package.json"))).version;
export class NotOffered extends Error {}

const TICK = 5;
const now = () => Number(process.hrtime.bigint());
const seconds = (since) => (now() - since) / 1e9;
const said = (answer) => process.stdout.write(JSON.stringify(answer ?? {}) + "\n");

export class Peer {
  handled = 0;
  told = null; // who is told of each message; nobody while work is timed
  limit = Infinity;
  clients = []; // the packages that it speaks to its store with

  // The handler, which does nothing but be counted.
  handle(number) {
    this.handled += 1;
    if (this.told !== null) this.told(number, now());
  }
  async pushMany() {
    throw new NotOffered("it has no call for many messages");
  }
  async seed(finished) {
    throw new NotOffered(`nothing to seed ${finished} finished messages with`);
  }
  runsOn() {
    return [`Node.js ${process.versions.node}`, ...this.clients.map((name) => `${name} ${version(name)}`)].join(", ");
  }
}

export function serve(peer) {
  let next = 0;
  let began = [];
  let heard = () => {};
  const message = (size) => ({ n: ++next, text: "x".repeat(Math.max(size - 24, 0)) });

  const actions = {
    describe: () => ({ "runs on": peer.runsOn(), ...peer.describe() }),
    open: ({ url, make }) => peer.open(url, make),
    async enqueue({ count, batch, size, seconds: limit }) {
      const started = now();
      let pushed = 0;
      while (pushed < count && seconds(started) <= limit) {
        const some = Math.min(batch, count - pushed, peer.limit);
        if (batch === 1) await peer.push(message(size));
        else await peer.pushMany(Array.from({ length: some }, () => message(size)));
        pushed += some;
      }
      return { count: pushed, seconds: seconds(started) };
    },
    async start({ listen }) {
      peer.told = listen ? (number, time) => (began.push([number, time]), heard()) : null;
      await peer.start();
    },
    async stop() {
      await peer.stop();
      tick(); // before the answer, which ends the step
    },
    left: async () => ({ left: await peer.left() }),
    began() {
      const found = began;
      began = [];
      return { began: found };
    },
    async pace({ count, gap, size }) {
      const pushed = [];
      let due = now();
      for (let turn = 0; turn < count; turn += 1) {
        const wait = (due - now()) / 1e6;
        if (wait > 0) await sleep(wait);
        due += gap * 1e9 * (0.5 + Math.random());
        const one = message(size);
        const called = now();
        await peer.push(one);
        pushed.push([one.n, called, now()]);
      }
      return { pushed };
    },
    async roundtrip({ count, seconds: limit, size }) {
      const started = now();
      let done = 0;
      while (done < count && seconds(started) <= limit) {
        const handled = new Promise((resolve) => (heard = resolve));
        await peer.push(message(size));
        await handled;
        done += 1;
      }
      heard = () => {};
      return { count: done, seconds: seconds(started) };
    },
    seed: async ({ finished, size }) => ({ finished: await peer.seed(finished, message(size)) }),
  };

  let told = 0;
  function tick() {
    if (peer.handled !== told) {
      told = peer.handled;
      said({ tick: [now(), told] });
    }
  }
  setInterval(tick, TICK);

  async function answer(line) {
    const { do: action, ...given } = JSON.parse(line);
    try {
      if (!(action in actions)) throw new NotOffered(`nothing here can ${action}`);
      said(await actions[action](given));
    } catch (error) {
      said(error instanceof NotOffered ? { refused: error.message } : { failed: String(error.stack) });
    }
  }

  // One after another: a question waits for the answer to the one before it.
  let last = Promise.resolve();
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => (last = last.then(() => answer(line))));
  lines.on("close", () => last.then(() => process.exit(0)));
}
