import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";
import { allRules } from "./all.ts";
import { fieldsWithoutRule } from "./fields.ts";
import { createRules } from "./rule.ts";

/* A model that the next version adds: in the client it is its row and its request object, and nothing else changes. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = createTemporaryFolder("imaginary-model", `${root}packages/core/.tmp`);
const row = `
  "zeta-1": {
    family: "zeta", thinking: [], reasoningEffort: [], maxTokens: 1000, temperature: 1, penalties: false, stop: 1,
    seesImages: false, tools: false, jsonMode: false,
  },`;
const requestObject = `
  /** Request to \`zeta-1\`. */
  "zeta-1": v.object({
    /** The model that responds. */
    model: v.literal("zeta-1"),
    /** The conversation so far. */
    messages: textMessages,
    /** Depth of the response. */
    depth: v.optional(v.picklist(["deep", "flat"])),
    ...streamFields,
  }),`;
const consumer = `
import { type ChatModel, type ChatRequest, type Client, streamChat } from "@sluice/core";
import { createChatStore } from "@sluice/stores";
declare const client: Client;
const messages = [{ role: "user", content: "Hi" }] as const;
const model: ChatModel = "zeta-1";
streamChat(client, { model, messages, depth: "deep" });
createChatStore(client, { model, params: { depth: "flat" } });
// @ts-expect-error a value that the model does not have
streamChat(client, { model, messages, depth: "medium" });
// @ts-expect-error a field of another model
streamChat(client, { model: "delta-5.3", messages, depth: "deep" });
declare const request: Extract<ChatRequest, { model: "zeta-1" }>;
// @ts-expect-error its fields are read-only
request.depth = "flat";
`;

beforeAll(() => {
  cpSync(`${root}packages/core/src`, `${folder}/src`, { recursive: true });
  writeFileSync(`${folder}/consumer.ts`, consumer);
  // the stores of the repository use the core with the new model
  const paths = {
    "@sluice/core": ["./src/entries/index.ts"],
    "@sluice/core/*": ["./src/entries/*.ts"],
    "@sluice/stores": [`${root}packages/stores/src/index.ts`],
  };
  const compilerOptions = { noEmit: true, incremental: false, jsx: "react-jsx", paths };
  const include = ["src", "consumer.ts"];
  const config = { extends: `${root}tsconfig.base.json`, compilerOptions, include };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
});

function insert(path: string, anchor: string, text: string): void {
  const source = readFileSync(`${folder}/src/${path}`, "utf8");
  expect(source).toContain(anchor);
  writeFileSync(
    `${folder}/src/${path}`,
    source.replace(anchor, () => anchor + text),
  );
}

function errorsOfCompiler(): string {
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  return spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { encoding: "utf8" }).stdout;
}

test("A new model is two entries in the client: the compiler requires the second, then its fields require rules", {
  timeout: 180_000,
}, async () => {
  insert("types/chat-models.ts", "export const chatModels = {", row);
  expect(errorsOfCompiler()).toMatch(/chat\/protocol\/schema\.ts.*'zeta-1'/s);

  insert("chat/protocol/schema.ts", "export const chatRequests = {", requestObject);
  expect(errorsOfCompiler()).toBe("");

  const { requestSchemas, checkRequest } = await import(
    /* @vite-ignore */ `${folder}/src/entries/schemas.ts`
  );
  const request = { model: "zeta-1", messages: [{ role: "user", content: "Hi" }], depth: "deep" };
  expect(checkRequest(request)).toEqual({ issues: [], warnings: [] });
  expect(checkRequest({ ...request, depth: "medium" }).issues).toMatchObject([
    { path: "depth", rule: "chat.zeta.depth" },
  ]);

  // its rule tests are what remains to be written
  const schema = requestSchemas["zeta-1"];
  expect(fieldsWithoutRule("zeta-1", schema, allRules)).toContain("depth");
  const zeta = createRules({ endpoint: "", section: "", prefix: "chat.zeta", request });
  zeta.oneOf("depth", ["deep", "flat"], ["medium"]);
  expect(fieldsWithoutRule("zeta-1", schema, zeta.rules)).not.toContain("depth");
});
