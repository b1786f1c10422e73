"use client";
import { createImageStore, type ImageStore, type ImageStoreOptions } from "@sluice/core";
import { sharedStores } from "./shared-stores.js";

/** The image stores of each client. Images cost money, so a store with an id is kept longer than a request may take. */
export const images = sharedStores<ImageStoreOptions<string>, ImageStore<string>>({
  create: createImageStore,
  dispose: (store) => store.stop(),
  lingerMs: 15 * 60_000,
});
