import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Device } from "../support/devices-example.ts";

/*
 * A page in Firefox, in a profile of its own. Firefox itself speaks WebDriver BiDi, so that no driver stands between.
 */

/** Opens a page of an example in Firefox. */
export async function openFirefox(url: string): Promise<Device> {
  const profile = mkdtempSync(join(tmpdir(), "sluice-firefox-"));
  const args = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const child = spawn("firefox-esr", [...args, "about:blank"], {
    detached: true, // so that all its processes can be ended
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: profile },
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const { send, close } = await connect(`${await addressOf(child)}/session`);
  await send("session.new", { capabilities: {} });
  const { contexts } = await send("browsingContext.getTree", {});
  const { context } = contexts[0];
  await send("browsingContext.navigate", { context, url, wait: "complete" });
  return { ...deviceOf(run), close: end };

  /** Runs a function in the page, with arguments of JSON. */
  async function run<Result>(
    work: (...args: never[]) => Result,
    ...args: unknown[]
  ): Promise<Awaited<Result>> {
    const { result, exceptionDetails } = await send("script.evaluate", {
      expression: `Promise.resolve((${work})(...${JSON.stringify(args)})).then(JSON.stringify)`,
      target: { context },
      awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return JSON.parse(result.value ?? "null");
  }

  async function end(): Promise<void> {
    close();
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (isRunning && child.pid) process.kill(-child.pid, "SIGKILL");
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

type Run = <Result>(work: (...args: never[]) => Result, ...args: unknown[]) => Promise<Awaited<Result>>;

/** The verbs of a device: each waits until the page has what it needs. */
function deviceOf(run: Run): Omit<Device, "close"> {
  return {
    enter: (label, text) =>
      until(() =>
        run(
          (label: string, text: string) => {
            const field = document.querySelector<HTMLInputElement>(`input[aria-label="${label}"]`);
            const button = field?.form?.querySelector<HTMLButtonElement>("button[type=submit]");
            if (!field || !button || button.disabled) return false;
            field.value = text;
            button.click();
            return true;
          },
          label,
          text,
        ),
      ),
    press: (name) =>
      until(() =>
        run((name: string) => {
          const all = [...document.querySelectorAll<HTMLElement>("button, a")];
          const found = all.find(({ textContent }) => textContent === name);
          found?.click();
          return found !== undefined;
        }, name),
      ),
    text: () => run(() => document.body.innerText),
    hasImage: () =>
      run(
        () =>
          document
            .querySelector("img")
            ?.decode()
            .then(() => true) ?? false,
      ),
  };
}

/** Waits until a step could be done. */
async function until(step: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await step()); ) {
    if (Date.now() > deadline) throw new Error("the page in Firefox has no such field or button");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The address at which Firefox listens, which it prints. */
async function addressOf(child: ChildProcess): Promise<string> {
  if (child.stderr)
    for await (const line of createInterface(child.stderr)) {
      const [address] = /ws:\/\/\S+/.exec(line) ?? [];
      if (address) return address;
    }
  throw new Error("Firefox ended before it listened");
}

// biome-ignore lint/suspicious/noExplicitAny: the shapes of WebDriver BiDi
type Answer = any;

/** Sends commands of WebDriver BiDi, and returns their results. */
async function connect(address: string) {
  const socket = new WebSocket(address);
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data));
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new Error("Firefox does not answer")), { once: true });
  });
  return {
    close: () => socket.close(),
    async send(method: string, params: object): Promise<Answer> {
      const id = ++last;
      const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
      socket.send(JSON.stringify({ id, method, params }));
      const answer = await answered;
      if (answer.type === "error") throw new Error(`${method}: ${answer.message}`);
      return answer.result;
    },
  };
}
