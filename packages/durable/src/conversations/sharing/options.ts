import { ensure } from "@sluice/worker-proxy/internal";

/** Options of shared conversations. */
export interface SharingOptions {
  /** Most members of one conversation beside its owner; a further one is refused with `too_many_members`. 1 to 100. @default 20 */
  readonly mostMembers?: number | undefined;
  /** Most links of one conversation that work; a further one is refused with `too_many_links`. 1 to 100. @default 10 */
  readonly mostLinks?: number | undefined;
  /**
   * The user whose budgets and limits a turn counts for that a member has the server do: the one that sends it, or the owner of
   * the conversation. What a member's own page asks the gateway for is always the member's.
   *
   * @default "sender"
   */
  readonly payer?: "sender" | "owner" | undefined;
}

/** The options with their defaults. */
export type SharingSetup = { readonly [Name in keyof SharingOptions]-?: NonNullable<SharingOptions[Name]> };

/** Most of each: what ends with a member or a conversation is done at once. */
const MOST = 100;

/** @throws {TypeError} for an option that can't work */
export function checkedSharing(given: SharingOptions | undefined): SharingSetup | undefined {
  if (given === undefined) return undefined;
  ensure(
    typeof given === "object" && given !== null,
    "sharing: give an object, {} for the defaults, or leave it out",
  );
  const { mostMembers = 20, mostLinks = 10, payer = "sender" } = given;
  for (const [name, value] of Object.entries({ mostMembers, mostLinks }))
    ensure(Number.isSafeInteger(value) && value >= 1 && value <= MOST, `sharing: ${name}: give 1 to ${MOST}`);
  ensure(payer === "sender" || payer === "owner", 'sharing: payer: give "sender" or "owner"');
  return { mostMembers, mostLinks, payer };
}
