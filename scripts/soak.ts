import { setFlagsFromString } from "node:v8";
import { soak } from "../tests/soak/soak.ts";
import { readOptions } from "./options.ts";

/*
 * Uses the client in Node and in Chromium for minutes, through the proxy in workerd: chats, stops, lost connections and
 * video tasks. Prints memory, descriptors, listeners and stored bytes, and fails if one of them grows.
 *
 *   pnpm soak --minutes 60
 */

const { values } = readOptions({ options: { minutes: { type: "string", default: "10" } } });
setFlagsFromString("--expose-gc");
const growing = await soak(Number(values.minutes));
for (const size of growing) console.log(`grows: ${size}`);
process.exit(growing.length > 0 ? 1 : 0);
