import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { createReplay, readTapes } from "@sluice/emulator/tapes";

/* A test's use of the emulator. */

export async function start(folder: string): Promise<string> {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: 10 });
  const { url, close } = await serve(emulator, { port: 0 });
  const replay = createReplay({ tapes: await readTapes(folder) });
  await serve(replay, { port: 0 });
  await close();
  return emulator.requests.map(({ path }) => path).join() || url;
}
