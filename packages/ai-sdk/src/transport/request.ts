import type { JSONObject, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ChatRequest, Client } from "@sluice/core";
import type { ModelMessage } from "ai";
import { NAME } from "../base/provider-options.js";
import { requestOf } from "../chat/request.js";
import type { ChatTransportOptions } from "./options.js";
import { definitionsOf } from "./tools.js";

/**
 * Writes the request of a chat. `body` of a message wins over the transport's options. Settings that the model does not
 * have are warnings of the client.
 */
export async function chatRequestOf(
  client: Client,
  { model: usual, instructions, params, tools = {} }: ChatTransportOptions,
  messages: readonly ModelMessage[],
  body: object = {},
): Promise<{ body: ChatRequest; checks: boolean }> {
  const { model = usual, ...fields } = body as { readonly model?: string };
  const content = typeof instructions === "function" ? await instructions() : instructions;
  const system = content ? [{ role: "system", content }] : [];
  const { warnings, ...request } = await requestOf(
    client,
    model,
    {
      // messages that were made of a page's parts are those of a prompt
      prompt: [...system, ...messages] as LanguageModelV4Prompt,
      tools: await definitionsOf(tools),
      providerOptions: { [NAME]: { ...params, ...fields } as JSONObject },
    },
    true,
  );
  for (const warning of warnings)
    if ("feature" in warning)
      client.warn({
        path: warning.feature,
        message: warning.details ?? "is not a setting of this model: it was left out",
        rule: `ai-sdk.${warning.type}`,
      });
  return request;
}
