import { type Client, createClient, streamResumption } from "@sluice/core";
import { uploads } from "@sluice/media";
import { signOut } from "@sluice/react";
import { remoteStorage } from "@sluice/sync";
import { atom } from "nanostores";
import { Field, TextInput } from "@/components/sluice/fields";
import { NO_PASSWORD } from "../room-words.js";
import { serverURL } from "../server.js";

/** Names of the devices, as addresses have them. */
export const deviceNames = ["laptop", "phone"] as const;
export type DeviceName = (typeof deviceNames)[number];

/**
 * Makes the client of one device. Both are in one browser: a name of its own gives each a database, locks and channels of
 * its own, so that they meet on the server alone, as two browsers would. The server must not take it for the user.
 */
function deviceClient(
  user: string,
  device: DeviceName,
  send: (request: Request) => Promise<Response> = fetch,
): Client {
  return createClient({
    baseURL: serverURL,
    resume: streamResumption(),
    uploads: uploads(),
    user: `${user} on ${device}`,
    headers: { authorization: `Bearer ${encodeURIComponent(user)}` },
    fetch(request) {
      request.headers.delete("x-sluice-user");
      return send(request);
    },
  });
}

/** Makes a device whose network can be cut. */
export function openDevice(user: string, device: DeviceName) {
  const isOffline = atom(false);
  let cable = new AbortController();
  const client = deviceClient(user, device, async (request) => {
    if (isOffline.get()) throw new TypeError("Failed to fetch");
    return fetch(request, { signal: AbortSignal.any([request.signal, cable.signal]) });
  });
  return { client, storage: remoteStorage(client), isOffline, setIsOffline };

  function setIsOffline(next: boolean): void {
    isOffline.set(next);
    if (next) cable.abort(new TypeError("network error"));
    cable = new AbortController();
    // what waits for the network tries again now
    if (!next) dispatchEvent(new Event("online"));
  }
}

/** Removes what the devices of a user have stored in this browser. */
export async function forgetDevices(user: string): Promise<void> {
  for (const device of deviceNames) await signOut(deviceClient(user, device));
}

/** Writes the address of a device's page, beside this one. */
export function addressOf(user: string, device: DeviceName): string {
  return `./?${new URLSearchParams({ user, device })}#/device`;
}

/** The name of a user, who is believed. */
export function NameField({ suggestion }: { readonly suggestion: string }) {
  return (
    <Field label="Name" hint={NO_PASSWORD}>
      <TextInput
        name="name"
        defaultValue={suggestion}
        required
        pattern="[\w.\-]+"
        maxLength={30}
        autoComplete="off"
      />
    </Field>
  );
}
