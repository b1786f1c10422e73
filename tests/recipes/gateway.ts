import { type ClientOptions, createClient } from "@sluice/core";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";

/** The emulator, and a client without retries. */
export function openGateway(options: EmulatorOptions = {}, clientOptions: Partial<ClientOptions> = {}) {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, ...options });
  const client = createClient({ ...emulator.clientOptions, retry: { limit: 0 }, ...clientOptions });
  return { emulator, client };
}

/** Answers that name their number and their question; faults, tools and thinking are left to the emulator. */
export function numbered(): NonNullable<EmulatorOptions["chat"]> {
  let nth = 0;
  return ({ messages }) => {
    const text = JSON.stringify(messages.at(-1)?.content);
    if (/tool|\[\[/i.test(text)) return undefined;
    nth += 1;
    return `answer ${nth} to ${text}`;
  };
}
