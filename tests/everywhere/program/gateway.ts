import { createEmulator } from "@sluice/emulator";
import { createReplay, readRecordings } from "@sluice/emulator/recordings";
import { serve } from "@sluice/emulator/serve";

/* A test's use of the emulator. */

export async function start(folder: string): Promise<string> {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: 10 });
  const { url, close } = await serve(emulator, { port: 0 });
  const replay = createReplay({ recordings: await readRecordings(folder) });
  await serve(replay, { port: 0 });
  await close();
  return emulator.requests.map(({ path }) => path).join() || url;
}
