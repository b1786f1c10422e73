import type { ImageModel, ImageRequest, ImageResult, RecordStorage } from "@sluice/core";
import { useImages } from "@sluice/react";
import {
  createItemId,
  createStoredList,
  isStoredItem,
  type StoredList,
} from "@/components/sluice/stored-list";

/** A request for images, and the images of its response. No images before the response arrives. */
export interface ImageOrder {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly request: ImageRequest;
  readonly images: ImageResult["images"];
  /** True if the page knows that the response is lost. The gateway may have billed the request. */
  readonly isLost?: boolean;
}

/** Requests for images that the browser stores. */
export type ImageOrders = StoredList<ImageOrder>;

/** Creates the list of requests. Create it once, outside of components. */
export function createImageOrders(storage: RecordStorage): ImageOrders {
  return createStoredList({ storage, name: "image-orders", isItem: isOrder });
}

/** Lifetime of an order, in milliseconds: links of a gateway expire after a day. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

/**
 * Requests images, and stores each request before it is sent. After a reload or a crash, the list shows the requests
 * that the gateway may have billed.
 *
 * @returns the state of `useImages`, with the orders and a `generate` that stores its request
 */
export function useImageOrders(orders: ImageOrders, model: ImageModel) {
  const images = useImages<ImageModel>({ id: "image-orders", model });
  const items = orders.useItems();
  const generate = async (request: ImageRequest): Promise<void> => {
    for (const { id, at } of items) if (at < Date.now() - MAX_AGE_MS) orders.remove(id);
    const order: ImageOrder = { id: createItemId(), at: Date.now(), request, images: [] };
    orders.put(order);
    await holdLock(order.id, async () => {
      const { data, error } = await images.generate(request);
      if (data) orders.put({ ...order, images: data.images });
      else if (error.billing === "none") orders.remove(order.id);
      else orders.put({ ...order, isLost: true });
    });
  };
  return { ...images, generate, orders: items };
}

const nameLock = (id: string) => `sluice/image-orders/${id}`;

/** Holds a lock during a request, so that other tabs and a later visit see whether a tab still waits for it. */
async function holdLock(id: string, run: () => Promise<void>): Promise<void> {
  await (navigator.locks ? navigator.locks.request(nameLock(id), run) : run());
}

/** Resolves when no tab waits for the order any more. Never resolves once `signal` aborts. */
export async function waitUntilAbandoned({ id }: ImageOrder, signal: AbortSignal): Promise<void> {
  await navigator.locks?.request(nameLock(id), { signal }, async () => {}).catch(() => new Promise(() => {}));
}

function isOrder(record: unknown): record is ImageOrder {
  if (!isStoredItem(record)) return false;
  const { request, images } = record;
  return typeof request === "object" && request !== null && "model" in request && Array.isArray(images);
}
