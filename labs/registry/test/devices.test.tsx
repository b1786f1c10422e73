import { expect, test } from "vitest";
import { describeSyncError } from "../components/sluice/devices.tsx";

test("An error of a chat on several devices has its own words, and any other those of describeError", () => {
  const refused = (code: string) => describeSyncError(Object.assign(new Error("no"), { code })).title;
  expect(["quota_exceeded", "record_too_large", "signed_out"].map(refused)).toEqual([
    "The server is full",
    "Too large to share",
    "Signed out",
  ]);
  expect(describeSyncError(new Error("no")).title).toBe("Something went wrong");
});
