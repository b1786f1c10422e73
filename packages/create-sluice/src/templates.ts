/** Name of a template. */
export type TemplateName = "react" | "worker" | "deno" | "next";

/** A template: examples of the repository, put together when this package is built. */
export interface Template {
  readonly title: string;
  /** Examples, and the folder of the new app in which each is. */
  readonly parts: readonly { readonly example: string; readonly to: string }[];
  /** Scripts beside those of the example: what it needs of the repository elsewhere. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Packages that those scripts need, with their versions as a manifest of the workspace has them. */
  readonly tools: Readonly<Record<string, string>>;
  /** Steps after the install, as a README has them, with the commands of npm. */
  readonly steps: string;
}

const EMULATOR = "sluice-emulator --port 8788 --key sk-test";

/** All templates, the default one first. */
export const templates: Readonly<Record<TemplateName, Template>> = {
  react: {
    title: "a page with a chat, and the Worker for its key",
    parts: [
      { example: "minimal-chat", to: "." },
      { example: "worker", to: "worker" },
    ],
    scripts: { types: "tsc -p ." },
    tools: { "@types/node": "catalog:", typescript: "catalog:" },
    steps: `Start it. The gateway's emulator runs beside the page: offline, free of charge, without a key.

    npm run dev

Write \`[[429:2]]\`, \`[[truncate]]\` or \`[[length]]\` into a message to see what happens then.

For a real gateway set GATEWAY_URL and GATEWAY_API_KEY before that command. The page never has the key.

In production the Worker in \`worker/\` adds the key: \`cd worker\`, \`npm install\`, then \`npm run deploy\`.
Before, set GATEWAY_URL and ORIGINS in \`worker/wrangler.jsonc\`, and its secrets with \`npx wrangler secret put\`.
Then give the Worker's address to \`createClient\` in \`chat.tsx\`.`,
  },
  worker: {
    title: "the Worker that keeps the gateway's key, alone",
    parts: [{ example: "worker", to: "." }],
    scripts: { gateway: EMULATOR },
    tools: { "@sluice/emulator": "workspace:^" },
    steps: `Start the gateway's emulator in one terminal, and the Worker in another: offline, free of charge, without a key.

    npm run gateway
    npm run dev

\`.dev.vars\` has secrets for this machine alone. Make a token for a user, and ask:

    export JWT_SECRET="$(sed -n 's/^JWT_SECRET=//p' .dev.vars)"
    curl http://localhost:8787/v1/chat/completions -H "Authorization: Bearer $(node scripts/token.ts ada)" -H 'Content-Type: application/json' -d '{"model":"delta-5.3","messages":[{"role":"user","content":"Hello"}]}'

To deploy it, set GATEWAY_URL and ORIGINS in \`wrangler.jsonc\`, its secrets with \`npx wrangler secret put\`, then \`npm run deploy\`.`,
  },
  deno: {
    title: "a script for Deno that prints an answer",
    parts: [{ example: "deno", to: "." }],
    scripts: { gateway: EMULATOR },
    tools: { "@sluice/emulator": "workspace:^" },
    steps: `Start the gateway's emulator in one terminal, and the script in another: offline, free of charge, without a key.

    npm run gateway
    deno run --allow-net --allow-env chat.ts "Why is the sky blue?"

For a real gateway set GATEWAY_URL and GATEWAY_API_KEY.`,
  },
  next: {
    title: "a Next app whose server keeps the key",
    parts: [{ example: "next", to: "." }],
    scripts: { gateway: EMULATOR },
    tools: {
      "@sluice/emulator": "workspace:^",
      "@types/react-dom": "catalog:",
      typescript: "catalog:",
    },
    steps: `Start the gateway's emulator in one terminal, and the app in another: offline, free of charge, without a key.

    npm run gateway
    npm run dev

\`.env.local\` has the emulator's address and key. For a real gateway change GATEWAY_URL and GATEWAY_API_KEY there.
\`app/api/[...path]/route.ts\` decides who may ask, and which models.`,
  },
};

/** Checks if a word is the name of a template. */
export function isTemplate(name: string): name is TemplateName {
  return Object.hasOwn(templates, name);
}
