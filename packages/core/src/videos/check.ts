import { assertAccepted, type UncheckedRequest } from "../base/validate.js";
import { type Issue, ValidationError } from "../errors.js";
import type { Client } from "../transport/send.js";
import type { VideoTaskStoreOptions } from "./options.js";
import { checkVideoRequest, type VideoRequest } from "./schema/request.js";

/** Throws what is wrong with a request, its media included, as long as nobody but us knows of it. */
export async function assertSendable(
  client: Client,
  request: VideoRequest | UncheckedRequest,
  { checkMedia, request: { signal: caller } = {} }: VideoTaskStoreOptions,
  signal: AbortSignal,
): Promise<void> {
  let media: readonly Issue[] | Promise<readonly Issue[]> = [];
  const checkAll = (checked: unknown) => {
    const findings = checkVideoRequest(checked);
    if (findings.issues.length === 0) media = checkMedia?.(request as VideoRequest, { signal }) ?? [];
    return findings;
  };
  // which has no check for what is unchecked
  assertAccepted(request, checkAll, client.warn, "submit(unchecked({ … }))");
  const issues = await media;
  signal.throwIfAborted();
  caller?.throwIfAborted();
  if (issues.length > 0) throw new ValidationError(issues);
}
