import { basename } from "node:path";
import { getSharedBrowser } from "./browser.ts";
import { LOCALHOST, PRODUCTION_KEY, type Started, type Workshop } from "./new-app.ts";

/* A newcomer's steps with an app, as its README describes them. Each step throws if a newcomer would be stuck. */

/** How to run the apps of a template. */
export interface ManagerCommands {
  /** True for an app with a page. */
  readonly hasPage: boolean;
  /** Arguments of `npm run dev` that take any free port of this machine. */
  readonly dev: readonly string[];
  /** Environment that lets the servers take any free port. */
  readonly env?: NodeJS.ProcessEnv;
  /** Arguments that build for production; undefined for an app without a build. */
  readonly build?: readonly string[] | undefined;
  /** Command that starts the build: in workerd for a Worker. */
  readonly production: (app: string, address: string) => readonly string[];
}

/** Environment that trusts the certificate of production's stand-in. */
const trusting = { NODE_EXTRA_CA_CERTS: LOCALHOST, DENO_CERT: LOCALHOST };
const anyPort = ["--port", "0", "--ip", "127.0.0.1"];
/** Starts a built Worker in workerd, under the address that it would have on Cloudflare. */
const runWrangler = (address: string, ...args: readonly string[]) => [
  ...[
    "npx",
    "wrangler",
    "dev",
    ...args,
    "--env-file",
    ".env.production.local",
    "--inspector-port",
    "0",
    ...anyPort,
  ],
  ...["--local-upstream", new URL(address).host, "--upstream-protocol", "https"],
];
const build = ["npm", "run", "build"];
const onServer = { hasPage: false, dev: [], env: { PORT: "0" }, production: () => ["npm", "start"] };

const withWorker: ManagerCommands = {
  hasPage: true,
  dev: ["--port", "0", "--host", "127.0.0.1"],
  build,
  production: (app, address) =>
    runWrangler(address, "--config", `dist/${basename(app).replaceAll("-", "_")}/wrangler.json`),
};

export const managers: Readonly<Record<string, ManagerCommands>> = {
  react: withWorker,
  studio: withWorker,
  start: {
    hasPage: true,
    dev: ["--port", "0", "--host", "127.0.0.1"],
    build,
    production: (_, address) => runWrangler(address, "--config", "dist/server/wrangler.json"),
  },
  next: {
    hasPage: true,
    dev: ["--port", "0", "--hostname", "127.0.0.1"],
    build,
    production: () => ["npm", "start", "--", "--port", "0", "--hostname", "127.0.0.1"],
  },
  worker: {
    hasPage: false,
    dev: anyPort,
    build,
    production: (_, address) => runWrangler(address, "dist/worker.js", "--no-bundle"),
  },
  node: onServer,
  deno: onServer,
};

/** The apps that are added to: the command of each framework, and the path at which the chat is then. */
export const made: readonly (readonly [
  name: string,
  template: string,
  command: readonly string[],
  path: string,
])[] = [
  [
    "create-vite",
    "react",
    ["npm", "create", "-y", "vite@latest", "app", "--", "--template", "react-ts", "--no-interactive"],
    "/",
  ],
  [
    "create-next-app",
    "next",
    // its usual page loads fonts from the network while it is built
    ["npx", "-y", "create-next-app@latest", "app", "--yes", "--empty", "--skip-install", "--disable-git"],
    "/chat",
  ],
  [
    "TanStack Start",
    "start",
    [
      ...["npx", "-y", "@tanstack/create-start@latest", "app", "--blank", "--deployment", "cloudflare"],
      ...["--no-install", "--no-git", "--non-interactive", "--no-toolchain", "--no-intent"],
    ],
    "/chat",
  ],
];

/** Timeout until a page shows its content, in milliseconds. A development server compiles it first, while other tests run. */
const PAGE_MS = 240_000;

/** Starts an app in development. */
export function startDev(shop: Workshop, app: string, { dev, env }: ManagerCommands): Promise<Started> {
  return shop.start(app, ["npm", "run", "dev", "--", ...dev], env);
}

/** Writes a message into the chat of a page, and returns the finished reply. */
export async function sendInPage(url: string, text: string): Promise<string> {
  const context = await (await getSharedBrowser()).newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_MS);
  const problems: string[] = [];
  page.on("pageerror", ({ message }) => problems.push(message));
  try {
    await page.goto(url);
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const reply = page
      .getByRole("list", { name: "Messages" })
      .getByRole("listitem")
      .nth(1)
      .or(page.getByRole("article", { name: "Assistant's message" }));
    await reply.getByRole("paragraph").waitFor();
    // "Send" is back when the reply has ended
    await page.getByRole("button", { name: "Send", exact: true }).waitFor();
    if (problems.length > 0) throw new Error(problems.join("\n"));
    return await reply.getByRole("paragraph").innerText();
  } finally {
    await context.close();
  }
}

/** Returns the text that a page shows to a visitor who is not signed in. */
export async function visit(url: string): Promise<string> {
  const context = await (await getSharedBrowser()).newContext({ ignoreHTTPSErrors: true });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PAGE_MS);
    await page.goto(url);
    // Next announces its pages with a separate alert, which is empty at first
    return await page.getByRole("alert").filter({ hasText: /\S/ }).first().innerText();
  } finally {
    await context.close();
  }
}

/** Sends a prompt to a server from the terminal, and returns the output. */
export function requestServer(shop: Workshop, app: string, url: string): Promise<string> {
  return shop.run(app, ["npm", "run", "ask", "--", "Hello"], { APP_URL: url });
}

/** Sends a prompt to a deployed server from the terminal, with the secret that signs its users' tokens. */
export function requestDeployed(shop: Workshop, app: string, url: string): Promise<string> {
  const [, secret = ""] = /^SESSION_SECRET=(.*)$/m.exec(shop.read(app, ".env.production.local")) ?? [];
  return shop.run(app, ["npm", "run", "ask", "--", "Hello"], {
    ...trusting,
    APP_URL: url,
    SESSION_SECRET: secret,
  });
}

/** Writes the settings that only the user knows into `.env.production.local`. */
function fillSettings({ read, write }: Workshop, app: string, url: string): void {
  const file = `${app}/.env.production.local`;
  const filled = read(file)
    .replace(/^APP_URL=.*$/m, `APP_URL=${url}`)
    .replace(/^GATEWAY_URL=.*$/m, "GATEWAY_URL=https://gateway.sluice.test")
    .replace(/^GATEWAY_API_KEY=.*$/m, `GATEWAY_API_KEY=${PRODUCTION_KEY}`);
  write(file, filled);
}

/** Builds an app, and serves the build over https, with the settings of production. */
export async function deploy(shop: Workshop, app: string, commands: ManagerCommands): Promise<Started> {
  if (commands.build) await shop.run(app, commands.build);
  return shop.deploy((env) => {
    const { APP_URL = "" } = env;
    fillSettings(shop, app, APP_URL);
    return shop.start(app, commands.production(app, APP_URL), { ...commands.env, ...env });
  });
}

/** Runs the checklist of production. */
export function checkDeploy(shop: Workshop, app: string, ...args: readonly string[]) {
  return shop.attempt(app, ["npm", "run", "check:deploy", "--", ...args], trusting);
}

/** Invites a user, and returns the link. */
export async function invite(shop: Workshop, app: string): Promise<string> {
  const printed = await shop.run(app, ["npm", "run", "--silent", "invite", "--", "ada"]);
  return printed.trim().split("\n").at(-1) ?? "";
}

/** Returns the files that git would add to a commit and that hold a secret of the app, or one of its settings. */
export async function openSecrets(shop: Workshop, app: string): Promise<readonly string[]> {
  const secrets = [".env.local", ".env.production.local"].flatMap((file) =>
    [...shop.read(app, file).matchAll(/^(?:SESSION_SECRET|GATEWAY_API_KEY)=(.+)$/gm)].map(
      ([, value]) => value ?? "",
    ),
  );
  if ((await shop.attempt(app, ["git", "rev-parse"])).status !== 0)
    await shop.run(app, ["git", "init", "--quiet"]);
  const listed = await shop.run(app, ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  return listed
    .split("\0")
    .filter((file) => file !== "" && !file.startsWith("node_modules/"))
    .filter((file) => secrets.some((secret) => shop.read(app, file).includes(secret)));
}
