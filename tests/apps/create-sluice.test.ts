import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

/* Folders as the built command leaves them. `new-apps.nightly.test.ts` installs and runs them. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const command = join(root, "packages/create-sluice/dist/cli.js");
const folder = mkdtempSync(join(tmpdir(), "sluice-create-"));
const templates = ["react", "studio", "next", "start", "worker", "node", "deno"];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `npm create sluice` in the folder of the tests. */
function create(...args: string[]): string {
  return execFileSync(process.execPath, [command, ...args], { cwd: folder, encoding: "utf8", stdio: "pipe" });
}

const read = (path: string) => readFileSync(join(folder, path), "utf8");
const readManifest = (app: string) => JSON.parse(read(`${app}/package.json`));
const listFiles = (app: string) =>
  globSync(["**/*", "**/.*"], { cwd: join(folder, app), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, app).length + 1))
    .filter((path) => !path.startsWith(".git/"));
const readFiles = (app: string) =>
  Object.fromEntries(listFiles(app).map((path) => [path, read(`${app}/${path}`)]));

/** Writes an app, as another command would have made it. */
function write(app: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, app, path)), { recursive: true });
    writeFileSync(join(folder, app, path), text);
  }
}

function git(app: string, ...args: string[]): string {
  const own = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  return execFileSync("git", [...own, ...args], { cwd: join(folder, app), encoding: "utf8", stdio: "pipe" });
}

const vite = {
  "package.json": JSON.stringify({
    name: "exist",
    scripts: { dev: "vite", build: "tsc -b && vite build" },
    dependencies: { react: "^19.3.1" },
    devDependencies: { vite: "^8.3.4" },
  }),
  "index.html": "mine",
  "tsconfig.json": '{ "files": [], "references": [] }\n',
  "vite.config.ts":
    "import react from '@vitejs/plugin-react'\nimport { defineConfig } from 'vite'\n\nexport default defineConfig({\n  plugins: [react()],\n})\n",
  "src/main.tsx": "mine",
  "src/App.tsx":
    "import './App.css'\n\nfunction App() {\n  return (\n    <>\n      <h1>Mine</h1>\n    </>\n  )\n}\n\nexport default App\n",
};
const next = {
  "package.json": JSON.stringify({
    name: "site",
    scripts: { dev: "next dev" },
    dependencies: { next: "16" },
  }),
  "tsconfig.json": '{\n  "compilerOptions": {\n    "noEmit": true\n  }\n}\n',
  "src/app/layout.tsx": "mine",
  "src/app/page.tsx": "mine",
};

const start = {
  "package.json": JSON.stringify({
    name: "start-app",
    scripts: { dev: "vite dev --port 3000", deploy: "npm run build && wrangler deploy" },
    dependencies: { "@tanstack/react-start": "1", react: "19" },
    devDependencies: { vite: "8", wrangler: "4" },
  }),
  "tsconfig.json":
    '{\n  "compilerOptions": {\n    "types": ["vite/client"],\n    "allowImportingTsExtensions": true\n  }\n}\n',
  "vite.config.ts": "import { cloudflare } from '@cloudflare/vite-plugin'\n",
  "wrangler.jsonc":
    '{\n  "compatibility_flags": ["nodejs_compat"],\n  "main": "@tanstack/react-start/server-entry"\n}\n',
  "src/router.tsx": "mine",
  "src/routes/__root.tsx": "mine",
  "src/routes/index.tsx": "mine",
};

describe.each(templates)("a new app of %s", (template) => {
  test("The app has its own name, and no name of the repository", () => {
    create("My App", "--template", template);
    expect(readManifest("My App")).toMatchObject({ name: "my-app", private: true, version: "0.0.0" });
    for (const [path, text] of Object.entries(readFiles("My App")))
      expect(text, path).not.toMatch(/workspace:|catalog:|@sluice\/example|YOUR-|sluice-app|\{\{\w+\}\}/);
    expect(read("My App/README.md")).toMatch(/^# my-app\n/);
    // tables have no empty cell, and lists are not interrupted
    expect(read("My App/README.md")).not.toMatch(/\| +\||^ +\d\./m);
    expect(readManifest("My App").scripts).toMatchObject({
      types: expect.any(String),
      "check:deploy": expect.any(String),
    });
    rmSync(join(folder, "My App"), { recursive: true });
  });

  test("Each file that a file of the app names exists", () => {
    create(template, "--template", template);
    const files = listFiles(template);
    const packages = Object.keys(readManifest(template).dependencies ?? {});
    const isThere = (from: string, path: string) =>
      files.some((file) =>
        [path, `${path}.ts`, `${path}.tsx`].some((at) => file === join(dirname(from), at)),
      );
    const missing = Object.entries(readFiles(template)).flatMap(([path, text]) => [
      ...[...text.matchAll(/(?:from|import) "(\.{1,2}\/[^"]+)"/g)]
        // the router's command creates `routeTree.gen`
        .filter(([, specifier = ""]) => specifier !== "./routeTree.gen" && !isThere(path, specifier))
        .map(([, specifier]) => `${path} imports ${specifier}`),
      // names of files in words, in commands and in configurations
      ...[...text.matchAll(/(?<![\w/.-])(?:[\w.[\]-]+\/)*[\w-]+\.(?:tsx?|jsonc?|md|css|html)\b(?!\()/g)]
        .map(([name]) => name.replace(/^(?:\.{1,2}\/)+/, ""))
        .filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))
        .filter((name) => !/^node_modules\/|^next-env\.d\.ts$/.test(name))
        // a file of a package
        .filter((name) => !packages.some((one) => name.startsWith(`${one}/`)))
        .map((name) => `${path} names ${name}`),
    ]);
    expect(missing).toEqual([]);
  });

  test("The app's secrets are random, and differ between development and production", () => {
    create(`${template}-1`, "--template", template);
    create(`${template}-2`, "--template", template);
    const secrets = [`${template}-1`, `${template}-2`].flatMap((app) =>
      [".env.local", ".env.production.local"].map(
        (file) => /^SESSION_SECRET=(.{40,})$/m.exec(read(`${app}/${file}`))?.[1],
      ),
    );
    expect(secrets).not.toContain(undefined);
    expect(new Set(secrets).size).toBe(4);
  });

  test("A second run changes nothing, and a fresh clone gets its settings again", () => {
    create(`${template}-twice`, "--template", template);
    const before = readFiles(`${template}-twice`);
    expect(create(`${template}-twice`, "--add")).toContain("Nothing was changed.");
    expect(readFiles(`${template}-twice`)).toEqual(before);
    rmSync(join(folder, `${template}-twice/.env.local`));
    create(`${template}-twice`, "--add");
    expect(Object.keys(readFiles(`${template}-twice`))).toEqual(Object.keys(before));
  });

  test("A colleague's clone gets no new secret for production: it would sign out all users of the deployed app", () => {
    const app = `${template}-clone`;
    create(app, "--template", template);
    for (const file of [".env.local", ".env.production.local"]) rmSync(join(folder, app, file));
    create(app, "--add");
    expect(read(`${app}/.env.local`)).toMatch(/^SESSION_SECRET=.{40,}$/m);
    const production = read(`${app}/.env.production.local`);
    expect(production).toMatch(/^SESSION_SECRET=$/m);
    expect(production).not.toMatch(/^\w*SECRET=.+$/m);
    // a file without a secret stays without a secret
    writeFileSync(join(folder, app, ".env.production.local"), "APP_URL=https://chat.example\n");
    create(app, "--add");
    expect(read(`${app}/.env.production.local`)).toMatch(/^SESSION_SECRET=$/m);
  });
});

test.each([
  [["full"], "full is not empty"],
  [
    ["x", "--template", "vue"],
    "there is no template vue; there are react, studio, next, start, worker, node, deno",
  ],
  [["bare", "--add"], "has no framework that this command knows. Give --template"],
  [["strange", "--add", "--template", "studio"], "studio is a new app"],
  [["root", "--add"], "is the root of a workspace. Name the folder of one of its apps"],
  [["a", "b"], "one folder"],
])("%j is refused with the reason", (args, reason) => {
  write("full", { "notes.txt": "mine" });
  write("strange", vite);
  write("bare", { "package.json": "{}" });
  write("root", { "package.json": '{ "workspaces": ["apps/*"] }' });
  expect(() => create(...args)).toThrow(reason);
});

test("the help names each template, and fits a terminal of 80 columns", () => {
  const help = create("--help");
  for (const name of templates) expect(help).toContain(`\n  ${name.padEnd(8)} `);
  expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

describe("secrets that a new app has are ignored by git, or are not written (case 171)", () => {
  test.each([
    ["no .gitignore", undefined],
    ["a .gitignore for another purpose", "node_modules"],
    ["a .gitignore with another end of line", "node_modules\r\ncoverage\r\n"],
    ["a .gitignore that takes a file back", "*.local\n!.env.local\n"],
    ["a .gitignore that has them", "*.local\ndist\n"],
  ])("An app with %s commits none", (name, ignored) => {
    const app = `ignore-${name.length}`;
    write(app, { ...vite, ...(ignored === undefined ? {} : { ".gitignore": ignored }) });
    git(app, "init", "--quiet");
    create(app, "--add");
    write(app, { "dist/exist/.dev.vars": "SESSION_SECRET=a", ".dev.vars": "GATEWAY_API_KEY=a" });
    const listed = git(app, "ls-files", "--others", "--exclude-standard");
    expect(listed).toContain("server/proxy.ts");
    expect(listed).not.toMatch(/\.env|\.dev\.vars/);
    if (ignored) expect(read(`${app}/.gitignore`).startsWith(ignored)).toBe(true);
  });

  test("An app in a monorepo whose root ignores other files commits none", () => {
    write("mono", { "package.json": '{ "workspaces": ["apps/*"] }', ".gitignore": "node_modules\n" });
    git("mono", "init", "--quiet");
    create("mono/apps/chat");
    expect(git("mono", "ls-files", "--others", "--exclude-standard")).not.toMatch(/\.env/);
  });

  test("A file with secrets that is committed already stops the command before it writes one", () => {
    write("tracked", { ...vite, ".env.local": "" });
    git("tracked", "init", "--quiet");
    git("tracked", "add", "--all");
    expect(() => create("tracked", "--add")).toThrow("git would commit .env.local");
    expect(existsSync(join(folder, "tracked/.env.production.local"))).toBe(false);
    expect(read("tracked/.env.local")).toBe("");
  });
});

describe("--add", () => {
  test("An app of create-vite gets the plugin and the chat, and each edit is shown", () => {
    write("exist", vite);
    const printed = create("exist", "--add");
    expect(printed).toContain("  + import { cloudflare } from '@cloudflare/vite-plugin'\n");
    expect(printed).toContain("  +   plugins: [cloudflare(), react()],\n");
    expect(printed).toContain("  +       <ChatApp models={modelNames} />\n");
    expect(read("exist/src/App.tsx")).toBe(
      `import { modelNames } from '../server/models'\nimport { ChatApp } from './chat/app'\n${vite[
        "src/App.tsx"
      ].replace("<>\n", "<>\n      <ChatApp models={modelNames} />\n")}`,
    );
    expect([read("exist/index.html"), read("exist/src/main.tsx")]).toEqual(["mine", "mine"]);
    expect(readManifest("exist")).toMatchObject({
      name: "exist",
      scripts: {
        dev: "sluice-emulator -- vite",
        "dev:gateway": "vite",
        build: "tsc -b && vite build",
        types: "tsc -b && tsc -p tsconfig.server.json",
      },
      dependencies: { react: "^19.3.1", "@sluice/react": expect.any(String) },
    });
    expect(printed).not.toContain("TO DO");
  });

  test("A second run changes nothing", () => {
    const before = readFiles("exist");
    expect(create("exist", "--add")).toContain("Nothing was changed.");
    expect(readFiles("exist")).toEqual(before);
  });

  test("A file of the server that its user has changed stays unchanged", () => {
    write("exist", { "server/models.ts": "export const models = {};\n" });
    expect(create("exist", "--add", "--template", "react")).not.toContain("server/models.ts was");
    expect(read("exist/server/models.ts")).toBe("export const models = {};\n");
  });

  test("An app that it can't edit stays unchanged, and each edit is printed", () => {
    const odd = {
      ...vite,
      "package.json": JSON.stringify({ ...JSON.parse(vite["package.json"]), scripts: { dev: "a && vite" } }),
      "vite.config.ts": "export default defineConfig(({ mode }) => createConfig(mode));\n",
      "src/App.tsx": "export const App = () => <Routes />;\n",
    };
    write("odd", odd);
    const printed = create("odd", "--add");
    expect(printed).toContain("TO DO: make these edits yourself. The app does not run without them.");
    for (const edit of [
      "plugins: [cloudflare(), …]",
      "<ChatApp models={modelNames} />",
      "sluice-emulator -- <",
    ])
      expect(printed).toContain(edit);
    for (const path of ["vite.config.ts", "src/App.tsx"] as const)
      expect(read(`odd/${path}`)).toBe(odd[path]);
    expect(readManifest("odd").scripts.dev).toBe("a && vite");
  });

  test("An app of create-next-app gets a separate page for the chat", () => {
    write("site", next);
    const printed = create("site", "--add");
    expect(read("site/src/app/page.tsx")).toBe("mine");
    expect(readManifest("site").scripts["check:deploy"]).toMatch(
      /^node --disable-warning=\w+ scripts\/check-deploy.ts$/,
    );
    expect(read("site/src/app/chat/page.tsx")).toContain('from "../../../chat/app"');
    expect(read("site/src/app/api/[...path]/route.ts")).toContain('from "../../../../server/respond"');
    expect(read("site/tsconfig.json")).toContain('"allowImportingTsExtensions": true,\n    "noEmit": true');
    expect(printed).not.toContain("TO DO");
    expect(create("site", "--add")).toContain("Nothing was changed.");
  });

  test("An app of TanStack Start gets a Worker around its own, and a page for the chat", () => {
    write("start-app", start);
    const printed = create("start-app", "--add");
    expect(printed).not.toContain("TO DO");
    expect(read("start-app/src/routes/chat.tsx")).toContain('createFileRoute("/chat")');
    expect(read("start-app/wrangler.jsonc")).toContain(
      '"compatibility_flags": ["nodejs_compat", "enable_request_signal"],\n  "main": "server/worker.ts",\n  "secrets"',
    );
    expect(read("start-app/tsconfig.json")).toContain('"types": ["node", "vite/client"]');
    expect(readManifest("start-app").scripts).toMatchObject({
      dev: "sluice-emulator -- vite dev --port 3000",
      deploy: "npm run build && wrangler deploy",
      "sluice:deploy": expect.stringContaining("check:deploy"),
    });
    expect(read("start-app/SLUICE.md")).toContain("npm run sluice:deploy");
    expect(create("start-app", "--add")).toContain("Nothing was changed.");
  });

  test("An empty folder gets a new app", () => {
    mkdirSync(join(folder, "empty"));
    create("empty", "--add");
    expect(read("empty/README.md")).toMatch(/^# empty\n/);
  });

  test("A trial shows the edits, and writes nothing", () => {
    write("trial", vite);
    const before = readFiles("trial");
    expect(create("trial", "--add", "--dry-run")).toContain("+   plugins: [cloudflare(), react()],");
    expect(readFiles("trial")).toEqual(before);
  });
});

test("Settings of an app that exists stay, and those that are missing are added without being shown", () => {
  write("settings", { ...next, ".env.local": "DATABASE_URL=postgres://secret\nSESSION_SECRET=mine" });
  const printed = create("settings", "--add");
  expect(read("settings/.env.local")).toMatch(
    /^DATABASE_URL=postgres:\/\/secret\nSESSION_SECRET=mine\nAPP_URL=http:.*\nGATEWAY_URL=\nGATEWAY_API_KEY=\n$/,
  );
  expect(printed).toContain(".env.local\n\n  Settings that were missing");
  expect(printed).not.toMatch(/secret\n|SESSION_SECRET/);
});

test("Settings of development that wrangler would read instead of ours are named", () => {
  write("vars", { ...start, ".dev.vars": "OTHER=1\n" });
  expect(create("vars", "--add")).toContain(".dev.vars\n\n  Move its lines into .env.local");
});

test.each(["react", "studio", "start", "worker"])(
  "A deploy of %s takes its settings from the file of production, and not from .env.local, which wrangler prefers",
  (template) => {
    create(`deploy-${template}`, "--template", template);
    expect(readManifest(`deploy-${template}`).scripts.deploy).toMatch(
      / wrangler deploy --env-file (\S+) --secrets-file \1$/,
    );
  },
);

test("The template studio writes at most 30 files", () => {
  create("small-studio", "--template", "studio");
  const files = listFiles("small-studio");
  expect(files).toContain("src/rooms/rooms.tsx");
  expect(files.length).toBeLessThanOrEqual(30);
});

describe("an app that pnpm installs", () => {
  test("The app allows the install scripts that it needs, which pnpm asks for", () => {
    write("with-pnpm", { "package.json": vite["package.json"], "pnpm-lock.yaml": "" });
    expect(create("with-pnpm", "--add")).toContain("  pnpm install\n  pnpm run dev");
    expect(read("with-pnpm/pnpm-workspace.yaml")).toBe("allowBuilds:\n  esbuild: true\n  workerd: true\n");
  });

  test.each([
    ["packages:\n  - apps/*\n", "packages:\n  - apps/*\nallowBuilds:\n  esbuild: true\n  workerd: true\n"],
    ["allowBuilds:\n  sharp: true\n", "allowBuilds:\n  esbuild: true\n  workerd: true\n  sharp: true\n"],
    ["allowBuilds:\n  esbuild: false\n  workerd: true\n", undefined],
  ])("The list of the workspace gets what it lacks, and the edit is shown: %j", (before, after = before) => {
    write("pnpm-mono", { "pnpm-lock.yaml": "", "pnpm-workspace.yaml": before });
    const printed = create("pnpm-mono/apps/chat");
    expect(printed.includes("../../pnpm-workspace.yaml\n")).toBe(after !== before);
    expect(read("pnpm-mono/pnpm-workspace.yaml")).toBe(after);
    expect(create("pnpm-mono/apps/chat", "--add")).toContain("Nothing was changed.");
    rmSync(join(folder, "pnpm-mono"), { recursive: true });
  });

  test("A list that can't be edited safely is left to its user, with its path", () => {
    write("pnpm-mono", { "pnpm-lock.yaml": "", "pnpm-workspace.yaml": "allowBuilds: { sharp: true }\n" });
    expect(create("pnpm-mono/apps/chat")).toContain(
      "../../pnpm-workspace.yaml\n\n  allowBuilds:\n    esbuild: true\n    workerd: true\n",
    );
  });

  test("Its pages and scripts have the commands of pnpm", () => {
    write("spoken", { "pnpm-lock.yaml": "" });
    create("spoken/chat");
    const texts = Object.entries(readFiles("spoken/chat")).filter(([path]) => path !== "package.json");
    for (const [path, text] of texts)
      expect.soft(text, path).not.toMatch(/\bnp[mx] (?:run|install|start|create|wrangler)/);
    expect(read("spoken/chat/README.md")).toContain("pnpm run invite ada");
    expect(read("spoken/chat/README.md")).toContain("`pnpm create sluice . --add`");
  });
});

test("The command prints its version", () => {
  expect(create("--version").trim()).toMatch(/^\d+\.\d+\.\d+/);
});
