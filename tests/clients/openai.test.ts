import OpenAI from "openai";
import { openAIClient } from "./openai-client.ts";
import { testClient } from "./test-client.ts";

testClient("openai", (access) => openAIClient(new OpenAI(access)));
