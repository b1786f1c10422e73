import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";

/*
 * The gateway that the behaviours run against: the emulator, and a response that is too large for any buffer between it
 * and its reader. Prints its address.
 */

const FRAMES = 1500;
const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "~".repeat(65_000) } }] })}\n\n`;
const bytes = new TextEncoder().encode(frame);
const forEveryPage = { "access-control-allow-origin": "*" };

const emulator = createEmulator({ cors: true, speed: 200, durations: { videoMs: 60_000 } });
/** What was sent of each large response, by the mark in its prompt. */
const floods = new Map();

const { url } = await serve({ fetch: respond }, { port: 0 });
console.log(url);

async function respond(request) {
  const { pathname } = new URL(request.url);
  const [, watched] = /^\/flood\/(\w+)$/.exec(pathname) ?? [];
  if (watched) return Response.json(floods.get(watched) ?? { sent: 0 }, { headers: forEveryPage });
  if (request.method !== "POST" || pathname !== "/v1/chat/completions") return emulator.fetch(request);
  const body = await request.text();
  const [, mark] = /"flood (\w+)"/.exec(body) ?? [];
  return mark ? flood(mark) : emulator.fetch(new Request(request, { body }));
}

/** 1,500 frames of 64 kB, each made when the one before has left. */
function flood(mark) {
  const state = { sent: 0, isWhole: false, isLeft: false };
  floods.set(mark, state);
  const stream = new ReadableStream(
    {
      pull(controller) {
        controller.enqueue(bytes);
        state.sent += 1;
        if (state.sent < FRAMES) return;
        state.isWhole = true;
        controller.close();
      },
      cancel() {
        state.isLeft = true;
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(stream, { headers: { ...forEveryPage, "content-type": "text/event-stream" } });
}
