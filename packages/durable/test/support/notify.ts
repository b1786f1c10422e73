import { Webhook } from "standardwebhooks";
import type { Recorded } from "../../../worker-proxy/test/support/upstream.js";

export const WEBHOOK_SECRET = `whsec_${Buffer.from("a secret of the app, 32 and more").toString("base64")}`;

const readHeaders = ({ rawHeaders }: Recorded) =>
  Object.fromEntries(
    rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), rawHeaders[at + 1]]])),
  ) as Record<string, string>;

/** Reads a webhook as the app does. @throws for an invalid signature */
export const readWebhook = (request: Recorded): unknown =>
  new Webhook(WEBHOOK_SECRET).verify(request.body, readHeaders(request));
