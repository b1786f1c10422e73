import { gatewayFor, ratiosFor, type Size, sizes } from "../stream-ratios.ts";
import { own } from "../subjects.ts";

/*
 * Ours and the floor as one program, for runtimes without a page. Node, Deno and Bun run it from a terminal; workerd
 * has no clock that goes on while a program works, and gets one run per request.
 */

const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";
if (!isWorkerd) {
  const columns: Record<string, unknown> = {};
  for (const size of Object.keys(sizes) as Size[]) columns[size] = await ratiosFor(own, size);
  console.log(JSON.stringify(columns));
  process.exit(); // Bun would serve the handler below
}

/** Made once: what it costs to make the frames is no part of a run. */
const gateways = new Map<Size, ReturnType<typeof gatewayFor>>();

export default {
  async fetch(request: Request): Promise<Response> {
    const { subject, size } = (await request.json()) as { subject: keyof typeof own; size: Size };
    const gateway = gateways.get(size) ?? gatewayFor(size);
    gateways.set(size, gateway);
    await own[subject](gateway, () => {});
    return new Response("done");
  },
};
