import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";

const KEY = "sk-examples";
const types = { html: "text/html", js: "text/javascript", css: "text/css" };

/** Serves the built page of an example and the emulator. The server adds the key, as a Worker does. */
export function serveExample(name: string): Promise<Served> {
  const dist = fileURLToPath(new URL(`../../examples/${name}/dist/`, import.meta.url));
  const emulator = createEmulator({ apiKeys: [KEY], speed: 20 });
  return serve({ fetch: respond }, { port: 0 });

  async function respond(input: Request | URL | string): Promise<Response> {
    const request = input as Request;
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/v1/")) {
      const withKey = new Request(request);
      withKey.headers.set("authorization", `Bearer ${KEY}`);
      return emulator.fetch(withKey);
    }
    const file = pathname === "/" ? "index.html" : pathname.slice(1);
    const type = types[file.split(".").at(-1) as keyof typeof types];
    return new Response(await readFile(dist + file), { headers: { "content-type": type } });
  }
}
