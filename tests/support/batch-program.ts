import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createBatch } from "@sluice/batch";
import { createClient } from "@sluice/core";
import { fileStorage } from "@sluice/stores/node";

/*
 * A script that creates images until it is killed, and continues when it is started again. Prints its state at the end.
 */

const [baseURL = "", folder = "", count = "0"] = process.argv.slice(2);

const batch = createBatch(
  createClient({ baseURL }),
  Array.from({ length: Number(count) }, (_, nth) => ({
    image: { model: "gamma-image-5-0-260128", prompt: `Reef ${nth}` } as const,
  })),
  {
    id: "reefs",
    concurrency: 16,
    storage: fileStorage(join(folder, "ledger.jsonl")),
    onResult: ({ id, result }) => writeFile(join(folder, `${id}.json`), JSON.stringify(result)),
  },
);
const state = await batch.run();
const unconfirmed = batch.getItems("unconfirmed").map(({ id, error }) => ({ id, message: error?.message }));
console.log(
  JSON.stringify({ ...state, error: state.error?.message, unconfirmed, unconfirmedCount: state.unconfirmed }),
);
