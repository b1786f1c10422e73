import { resumableStreams } from "@sluice/durable";
import { expect, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { openGateway, openStoredProxy, piece, silenceLog } from "./support/stored-proxy.js";

const MIB = 1024 * 1024;
/** Makes `count` events of a bit more than 1 MiB each, as one text. */
const events = (count: number) => piece("x".repeat(MIB)).repeat(count);
const isAppend = (operation: string) => operation === "streams.append";

/** Loses a response of 7 MiB while its events are being written. */
async function loseWrite() {
  const gateway = openGateway();
  const live = gateway.streamsLive();
  const { startStream, host } = openStoredProxy({ gateway, plugins: [resumableStreams()] });
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  host.onStored = async (operation) => {
    if (isAppend(operation)) await held;
  };
  await startStream();
  live.send(events(7));
  await expect.poll(() => host.operations.some(isAppend)).toBe(true);
  const ended = host.ended();
  await host.crash();
  await ended;
  release();
}

test("at most 64 MiB of a process wait to be stored, also after a response was lost during a write", async () => {
  const lines = silenceLog();
  await loseWrite();
  const gateway = openGateway();
  const { startStream, host } = openStoredProxy({
    gateway,
    plugins: [resumableStreams({ maxBytes: 100 * MIB })],
  });
  host.fails = isAppend;
  const large = gateway.streamsLive();
  await startStream();
  large.send(events(66));
  await expect.poll(() => lines.join()).toContain("a response could not be stored");
  const small = gateway.streamsLive();
  const reader = createTextReader(await startStream());
  small.send(piece("first"));
  await reader.until("first");
  small.send(piece("second"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(small.pulls).toBe(1);
  host.fails = () => false;
  await reader.until("second");
});
