import type { ProxyPlugin } from "./api/plugin.js";
import { definePlugin } from "./define-plugin.js";
import type { Exchange } from "./gateway/exchange.js";
import { relay } from "./reading/relay.js";

/**
 * Reads each stream of the gateway event by event, as a budget needs it. Its events then have `usage`, `timeout.chunkMs`
 * bounds its silences, and the key is searched in the whole stream, even if it is split over events. It takes two to three
 * times the CPU of a stream that the platform passes on.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, timeout: { chunkMs: 20_000 }, plugins: [readStreams()] });
 * ```
 */
export function readStreams(): ProxyPlugin {
  return definePlugin({ readStream });
}

function readStream<Env>(
  { call, report, account, admitted, keys, settings }: Exchange<Env>,
  body: ReadableStream<Uint8Array>,
  onEnd: (code?: string) => void,
): ReadableStream<Uint8Array> {
  const n = admitted.body?.["n"];
  return relay(body, call, {
    keys,
    choices: typeof n === "number" ? n : 1,
    stallMs: settings.timeout.chunkMs,
    ...(report.onFirstByte && { onFirstByte: report.onFirstByte }),
    onEnd({ usage, bytes, outcome, code, isConfirmed }) {
      if (usage) report.known.usage = usage;
      if (!isConfirmed) report.known.outcome = "unconfirmed";
      report.known.bytes = bytes;
      account?.close(outcome, usage);
      onEnd(code);
    },
  });
}
