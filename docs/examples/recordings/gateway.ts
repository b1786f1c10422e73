import { existsSync } from "node:fs";
import { createClient } from "@sluice/core";
import { createRecorder, createReplay, readRecordings, writeRecording } from "@sluice/emulator/recordings";

/** Replays the recordings of a folder, or records while RECORD is the gateway's address. */
export function openGateway(folder: string) {
  const { RECORD, GATEWAY_API_KEY = "sk-replay" } = process.env;
  if (!RECORD && !existsSync(folder)) throw new Error(`${folder} has no recordings: record them first`);
  const replay = RECORD ? undefined : createReplay({ recordings: readRecordings(folder), speed: Infinity });
  const gateway =
    replay ??
    createRecorder({ gateway: RECORD ?? "", save: (recording) => writeRecording(folder, recording) });
  const client = createClient({
    baseURL: RECORD ?? "https://gateway.example.com",
    apiKey: GATEWAY_API_KEY,
    fetch: gateway.fetch,
  });
  return { client, differences: () => (replay ? [...replay.misses, ...replay.unused()] : []) };
}
