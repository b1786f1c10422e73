import { createAsset } from "@sluice/core";
import { atom } from "nanostores";
import { client } from "../client.js";
import { createCollection, hasTexts } from "../media/collection.js";

/** An asset that was registered here. */
export interface RegisteredAsset {
  /** Id of the asset, as the gateway gave it. */
  readonly id: string;
  /** Address of the asset in video requests. */
  readonly uri: string;
  readonly name: string;
  readonly groupId: string;
  /** The picture itself: a data URI or a link. */
  readonly picture: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A registration that has not ended well, or not yet. */
export interface Registration {
  readonly id: string;
  readonly name: string;
  readonly picture: string;
  readonly groupId: string;
  readonly state: "sending" | "failed";
  readonly error?: unknown;
}

/** The assets that were registered in this browser: the gateway has no list of them. */
export const registered = createCollection("assets", isRegistered);

/** Registrations in flight, and those that failed. */
export const registrations = atom<readonly Registration[]>([]);

/** Registers a picture, a data URI or a link. It is listed at once, and never sent twice by itself. */
export async function register(picture: string, name: string, groupId: string): Promise<void> {
  const registration: Registration = { id: crypto.randomUUID(), name, picture, groupId, state: "sending" };
  const { id } = registration;
  registrations.set([registration, ...registrations.get()]);
  try {
    const handle = await createAsset(client, {
      model: "gamma-asset",
      GroupId: groupId,
      Name: name,
      AssetType: "Image",
      URL: picture,
    });
    registered.put({ ...handle, name, groupId, picture, at: Date.now() });
    dismiss(id);
  } catch (error) {
    registrations.set(
      registrations.get().map((one) => (one.id === id ? { ...one, state: "failed" as const, error } : one)),
    );
  }
}

/** Takes a registration off the list. */
export function dismiss(id: string): void {
  registrations.set(registrations.get().filter((one) => one.id !== id));
}

function isRegistered(kept: unknown): kept is RegisteredAsset {
  return hasTexts(kept, "uri", "name", "groupId", "picture");
}
