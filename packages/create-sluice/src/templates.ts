/** Name of a template. */
export type TemplateName = "react" | "studio" | "next" | "start" | "worker" | "node" | "deno";

/** A template: folders of `templates/`, combined when this package is built. */
export interface Template {
  readonly title: string;
  /** Folders relative to `templates/`, with their folder in the new app. */
  readonly parts: readonly (readonly [folder: string, to: string])[];
  /** URL of the app in development. */
  readonly address: string;
  /** Step after `npm run dev`, for the README. */
  readonly open: string;
  /** Steps of a deployment after the first step, which fills in the settings. */
  readonly deploy: readonly string[];
  /** Important files, with their purpose. */
  readonly files: Readonly<Record<string, string>>;
  /** End of the README's sentence about a sign-in service. */
  readonly page: string;
  /** Packages with an install script. */
  readonly builds?: readonly string[];
  /** Secrets besides the secret of sign-in, with their prefix. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Optional settings, with their meaning. */
  readonly settings?: Readonly<Record<string, string>>;
  /** True if no build tool sets `NODE_ENV`. */
  readonly setsMode?: boolean;
}

const server = {
  "server/models.ts": "the models, for the page and the server: change the list here",
  "server/proxy.ts": "the proxy that adds the gateway's key, and its limits",
  "server/sign-in.ts": "who the user is",
  "server/development.ts": "who the development user is",
  "scripts/check-deploy.ts": "the list that production has to meet",
};
/** Folder of the chat, which is also part of an example. */
const CHAT = "../../../examples/chat/chat";
const listChatFiles = (folder: string) => ({
  [`${folder}/chat.tsx`]: "the chat: messages, errors, try again, stop, images",
  [`${folder}/app.tsx`]: "the client, for a user who is signed in",
  [`${folder}/session.ts`]: "the token of the user",
});
const describeCloudflareDeploy = (address: string) => [
  `\`npx wrangler login\`, then \`npm run deploy\`. ${address} Your subdomain is in Cloudflare's dashboard, under Workers.`,
  "`npm run check:deploy` also checks the deployed app. All lines must say `ok`.",
];
const describeServerDeploy = (start: string) => [
  `${start} with the settings of \`.env.production.local\` in its environment, behind https, and with \`NODE_ENV\` set to \`production\`.`,
  "`npm run check:deploy` also checks the deployed app. All lines must say `ok`.",
];
const askInTerminal = `In another terminal, ask:

\`\`\`sh
npm run ask -- "Why is the sky blue?"
\`\`\``;
const workersAddress = "The address is `https://<name>.<your subdomain>.workers.dev`.";
const ownPage = ", and let `openSession` in `session.ts` return the service's token.";

/** Files that all templates with a page and its Worker share. */
const pageWithWorker = {
  address: "http://localhost:5173",
  builds: ["esbuild", "workerd"],
  open: "Open the address that it prints, and write a message.",
  deploy: describeCloudflareDeploy(workersAddress),
  files: {
    "server/worker.ts": "the Worker; `wrangler.jsonc` is its configuration",
    ...listChatFiles("src/chat"),
    ...server,
  },
  page: ownPage,
};

/** All templates. The first is the default. */
export const templates: Readonly<Record<TemplateName, Template>> = {
  react: {
    title: "A page with a chat (Vite, React), and its Worker",
    parts: [
      ["react", "."],
      [CHAT, "src/chat"],
      ["chat", "src/chat"],
      ["session", "src/chat"],
      ["server", "server"],
      ["worker/server", "server"],
      ["workers-limit", "server"],
      ["scripts", "scripts"],
    ],
    ...pageWithWorker,
  },
  studio: {
    title: "A page for chat, images and videos (Vite, React), and its Worker",
    parts: [
      ["react", "."],
      [CHAT, "src/chat"],
      ["session", "src/chat"],
      ["server", "server"],
      ["worker/server", "server"],
      ["workers-limit", "server"],
      ["scripts", "scripts"],
      // rooms, and a separate configuration and proxy in place of the shared files
      ["studio", "."],
    ],
    ...pageWithWorker,
    files: {
      "server/worker.ts": "the Worker; `wrangler.jsonc` is its configuration",
      "src/rooms/rooms.tsx": "the rooms: chat, images, videos",
      ...listChatFiles("src/chat"),
      ...server,
      "server/media.ts": "the models for images and videos, and their limits",
    },
    secrets: { PROXY_SECRET: "" },
  },
  next: {
    title: "A Next app with a chat",
    parts: [
      ["next", "."],
      [CHAT, "chat"],
      ["chat", "chat"],
      ["session", "chat"],
      ["server", "server"],
      ["memory-limit", "server"],
      ["scripts", "scripts"],
    ],
    address: "http://localhost:3000",
    builds: ["sharp"],
    open: "Open the address that it prints, and write a message.",
    deploy: describeServerDeploy(
      "`npm run build`, then run `npm start`, or deploy it to a host of Next apps,",
    ),
    files: {
      "app/api/[...path]/route.ts": "the server's routes",
      ...listChatFiles("chat"),
      ...server,
    },
    page: ownPage,
  },
  start: {
    title: "A TanStack Start app with a chat, and its Worker",
    parts: [
      ["start", "."],
      [CHAT, "src/chat"],
      ["chat", "src/chat"],
      ["session", "src/chat"],
      ["server", "server"],
      ["workers-limit", "server"],
      ["scripts", "scripts"],
    ],
    ...pageWithWorker,
  },
  worker: {
    title: "The Worker that keeps the gateway's key, alone",
    parts: [
      ["worker", "."],
      ["ask", "."],
      ["server", "server"],
      ["workers-limit", "server"],
      ["scripts", "scripts"],
    ],
    address: "http://localhost:8787",
    builds: ["esbuild", "workerd"],
    open: askInTerminal,
    deploy: describeCloudflareDeploy(`${workersAddress} Put pages of other origins into \`ORIGINS\`.`),
    files: { "server/worker.ts": "the Worker; `wrangler.jsonc` is its configuration", ...server },
    page: ".",
  },
  node: {
    title: "A server on Node with budgets, resumable responses, videos and files",
    parts: [
      ["ask", "."],
      ["server", "server"],
      ["memory-limit", "server"],
      ["scripts", "scripts"],
      // a separate proxy in place of the shared one
      ["node", "."],
    ],
    address: "http://localhost:8787",
    open: askInTerminal,
    deploy: describeServerDeploy("Run `npm start`, or `docker compose up`,"),
    files: {
      "server/main.ts": "the HTTP server; `HOST` and `PORT` say where it listens",
      "server/metrics.ts": "the counters of `/metrics`, for Prometheus",
      ...server,
      "scripts/admin.ts": "what an operator does: `npm run admin`",
    },
    page: ".",
    secrets: { PROXY_SECRET: "", WEBHOOK_SECRET: "whsec_" },
    settings: {
      OPERATORS: "ids of the users who may operate the server, separated by spaces",
      METRICS_TOKEN: "what a scraper sends for `/metrics`: at least 32 random characters",
      DATABASE_URL:
        "a Postgres for the rows, so that several processes can run: `postgres://user:password@host/name`",
      WEBHOOK_URL: "the address of your app that hears of each video, signed with `WEBHOOK_SECRET`",
    },
    setsMode: true,
  },
  deno: {
    title: "A server on Deno that keeps the gateway's key",
    parts: [
      ["deno", "."],
      ["ask", "."],
      ["server", "server"],
      ["memory-limit", "server"],
      ["scripts", "scripts"],
    ],
    address: "http://localhost:8787",
    open: askInTerminal,
    deploy: describeServerDeploy("Run `npm start`"),
    files: { "server/main.ts": "the HTTP server; `HOST` and `PORT` say where it listens", ...server },
    page: ".",
    setsMode: true,
  },
};

/** Checks for the name of a template. */
export function isTemplate(name: string): name is TemplateName {
  return Object.hasOwn(templates, name);
}
