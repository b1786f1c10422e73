import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Workshop } from "../../../tests/support/new-app.ts";

/*
 * What an app needs to add components: the registry as static files, as on the docs site, and an npm registry with the
 * packages of this repository, which are not published.
 */

const source = fileURLToPath(new URL("..", import.meta.url));
const shadcn = join(source, "node_modules/shadcn/dist/index.js");

/** The registry of this repository on this machine. */
export interface ServedRegistry {
  readonly url: string;
  /** Paths that were requested and are not there: what shadcn's command wants of its own site. */
  readonly missing: readonly string[];
  readonly close: () => Promise<void>;
}

/** Builds the registry with shadcn's command, and serves it. */
export async function serveRegistry(shop: Workshop): Promise<ServedRegistry> {
  const built = mkdtempSync(join(tmpdir(), "sluice-registry-"));
  execFileSync(process.execPath, [shadcn, "build", "--cwd", source, "--output", built], { stdio: "pipe" });
  const tarballs = shop.pack();
  const packed = dirname([...tarballs.values()][0] ?? "");
  const missing: string[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    const path = decodeURIComponent(url.split("?")[0] ?? "");
    const name = path.slice("/npm/".length);
    const tarball = tarballs.get(name);
    if (tarball) return response.end(JSON.stringify(packument(name, tarball, `http://${headers.host}`)));
    const [, kind, file = ""] = /^\/(r|tarballs)\/([\w.-]+)$/.exec(path) ?? [];
    try {
      response.end(readFileSync(kind === "r" ? join(built, file) : join(packed, file)));
    } catch {
      missing.push(path);
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    missing,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(built, { recursive: true });
    },
  };
}

/** The response to npm about a package of which there is one version. */
function packument(name: string, tarball: string, host: string) {
  const manifest = JSON.parse(
    execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }),
  );
  const dist = { tarball: `${host}/tarballs/${basename(tarball)}` };
  return {
    name,
    "dist-tags": { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  };
}

/** The environment of a command that npx starts, and not the package manager that runs the tests. */
export const asNPX = { npm_config_user_agent: "npm/11.0.0 node/v24.0.0" };

/** A fresh app of another command, and what shadcn's setup makes of it. */
export interface Fresh {
  /** Folder to which `@/` leads. */
  readonly root: string;
  /** Files, by their paths in the app. */
  readonly files: Readonly<Record<string, string>>;
  /** Edit of the app's configuration of TypeScript. */
  readonly types?: (text: string) => string;
  /** Packages that its setup installs. */
  readonly packages: readonly string[];
  /** Style sheet with the colors of the theme. */
  readonly css: string;
  /** True where the components are rendered on a server, too. */
  readonly isOnServer: boolean;
  /** Command that serves what was built, at any free port. */
  readonly start: readonly string[];
}

const CN = `import { type ClassValue, clsx } from "clsx";
import { twMerge } from "tailwind-merge";

export function cn(...inputs: ClassValue[]) {
  return twMerge(clsx(inputs));
}
`;

/** The page of the components. Its query has the address of the gateway. The emulator needs no key. */
const PAGE = `"use client";

import { createClient } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { Suspense, useState } from "react";
import { Gallery } from "@/gallery/gallery";

// what is random is made for each visit: Next asks for a boundary around it
export default function Page() {
  return (
    <Suspense>
      <App />
    </Suspense>
  );
}

function App() {
  const [client] = useState(() => {
    const query = new URLSearchParams(globalThis.location?.search ?? "");
    return createClient({ baseURL: query.get("gateway") ?? "/api" });
  });
  return (
    <GatewayProvider client={client}>
      <Gallery />
    </GatewayProvider>
  );
}
`;

const ICON = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>';

const paths = '"paths": { "@/*": ["./src/*"] },';

/** The frameworks, by the names of their commands. */
export const freshApps: Readonly<Record<string, Fresh>> = {
  "create-vite": {
    root: "src",
    files: {
      "src/lib/utils.ts": CN,
      "src/App.tsx": PAGE,
      "tsconfig.json": `{ "files": [], "references": [{ "path": "./tsconfig.app.json" }, { "path": "./tsconfig.node.json" }], "compilerOptions": { ${paths.slice(0, -1)} } }`,
      "vite.config.ts": `import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
});
`,
    },
    packages: ["tailwindcss", "@tailwindcss/vite", "clsx", "tailwind-merge"],
    css: "src/index.css",
    isOnServer: false,
    start: ["npx", "vite", "preview", "--port", "0", "--host", "127.0.0.1"],
  },
  "create-next-app": {
    root: ".",
    // an empty app has no icon, and a browser that asks for one complains
    files: { "lib/utils.ts": CN, "app/page.tsx": PAGE, "app/icon.svg": ICON },
    packages: ["clsx", "tailwind-merge"],
    css: "app/globals.css",
    isOnServer: true,
    start: ["npm", "start", "--", "--port", "0", "--hostname", "127.0.0.1"],
  },
};

/** Makes an app ready for shadcn's command, as its own `init` does with files from its site. */
export async function prepare(shop: Workshop, fresh: Fresh, { url }: ServedRegistry): Promise<void> {
  const { root, files, packages, css, isOnServer } = fresh;
  const gallery = globSync("gallery/*", { cwd: source }).map((path) => [
    `${root}/${path}`,
    readFileSync(join(source, path), "utf8"),
  ]);
  await shop.run("app", ["mkdir", "-p", `${root}/lib`, `${root}/gallery`]);
  for (const [path, text] of [...Object.entries(files), ...gallery]) shop.write(`app/${path}`, text ?? "");
  if (root === "src")
    shop.write(
      "app/tsconfig.app.json",
      shop.read("app", "tsconfig.app.json").replace('"target"', `${paths}\n    "target"`),
    );
  shop.write(`app/${css}`, THEME);
  shop.write("app/.npmrc", `@sluice:registry=${url}/npm/\n`);
  const components = {
    style: "new-york",
    rsc: isOnServer,
    tsx: true,
    // without a base color: the command would ask its own site for the colors
    tailwind: { config: "", css, baseColor: "", cssVariables: true },
    aliases: { components: "@/components", utils: "@/lib/utils" },
  };
  shop.write("app/components.json", JSON.stringify(components));
  // the gallery uses it, and no component brings it
  await shop.run("app", [...npmInstall, ...packages, "valibot"]);
}

const npmInstall = ["npm", "install", "--prefer-offline", "--no-audit", "--no-fund"];

/** Adds all components with shadcn's command. Its requests to its own site come to this machine, which has none of it. */
export async function addComponents(shop: Workshop, { url }: ServedRegistry): Promise<void> {
  const env = { ...asNPX, REGISTRY_URL: `${url}/shadcn`, npm_config_prefer_offline: "true" };
  const { items } = JSON.parse(readFileSync(join(source, "registry.json"), "utf8"));
  const names = items.map(({ name }: { readonly name: string }) => `@sluice/${name}`);
  await shop.run("app", [process.execPath, shadcn, "registry", "add", `@sluice=${url}/r/{name}.json`], env);
  await shop.run("app", [process.execPath, shadcn, "add", "--yes", ...names], env);
}

/** A theme with the names of shadcn. Its colors are those that components have to be readable with. */
const THEME = `@import "tailwindcss";
@custom-variant dark (&:is(.dark *));

:root {
  --background: #fff;
  --foreground: #0a0a0a;
  --card: #fff;
  --popover: #fff;
  --popover-foreground: #0a0a0a;
  --primary: #171717;
  --primary-foreground: #fafafa;
  --secondary: #f5f5f5;
  --muted-foreground: #6b6b6b;
  --destructive: #c81e1e;
  --border: #e5e5e5;
  --input: #d4d4d4;
}

.dark {
  color-scheme: dark;
  --background: #0a0a0a;
  --foreground: #fafafa;
  --card: #171717;
  --popover: #171717;
  --popover-foreground: #fafafa;
  --primary: #e5e5e5;
  --primary-foreground: #171717;
  --secondary: #262626;
  --muted-foreground: #a3a3a3;
  --destructive: #ff7b72;
  --border: #333;
  --input: #404040;
}

@theme inline {
  --color-background: var(--background);
  --color-foreground: var(--foreground);
  --color-card: var(--card);
  --color-popover: var(--popover);
  --color-popover-foreground: var(--popover-foreground);
  --color-primary: var(--primary);
  --color-primary-foreground: var(--primary-foreground);
  --color-secondary: var(--secondary);
  --color-muted-foreground: var(--muted-foreground);
  --color-destructive: var(--destructive);
  --color-border: var(--border);
  --color-input: var(--input);
}

@layer base {
  * {
    @apply border-border;
  }
  body {
    @apply bg-background text-foreground;
  }
}
`;
