import type { FaultReader } from "./reader.ts";
import { readByAgents } from "./readers/agents.ts";
import { readByAISDK } from "./readers/ai-sdk.ts";
import { readByHuggingFace } from "./readers/hugging-face.ts";
import { readByLangChain } from "./readers/langchain.ts";
import { readByLlamaIndex } from "./readers/llamaindex.ts";
import { readByOpenAI } from "./readers/openai.ts";
import { readBySluice } from "./readers/sluice.ts";
import { readByTanStack } from "./readers/tanstack.ts";
import { readByXsAI } from "./readers/xsai.ts";

/** Sluice and eight other clients, in the order of the table. */
export const readers = {
  Sluice: readBySluice(),
  openai: readByOpenAI(),
  "AI SDK": readByAISDK(),
  LangChain: readByLangChain(),
  xsAI: readByXsAI(),
  "TanStack AI": readByTanStack(),
  LlamaIndex: readByLlamaIndex(),
  "OpenAI Agents SDK": readByAgents(),
  "Hugging Face": readByHuggingFace(),
} satisfies Record<string, FaultReader>;

export type ReaderName = keyof typeof readers;
