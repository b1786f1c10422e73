import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { describeSyncError } from "../components/sluice/devices.tsx";
import { ToolCallCard } from "../components/sluice/tool-approval.tsx";

/* Components of the registry, as their HTML. `apps.nightly.test.ts` shows them in a browser. */

test("An error of a chat on several devices has its own words, and any other those of describeError", () => {
  const refused = (code: string) => describeSyncError(Object.assign(new Error("no"), { code })).title;
  expect(["quota_exceeded", "record_too_large", "signed_out"].map(refused)).toEqual([
    "No room at the server",
    "Too large to share",
    "Signed out",
  ]);
  expect(describeSyncError(new Error("no")).title).toBe("Something went wrong");
});

test("A tool call shows its cost beside the approval, and not once it is decided", () => {
  const estimate = { amount: 0.12, min: 0.04, currency: "USD", missing: [] };
  const render = (state: "needs-approval" | "done") =>
    renderToStaticMarkup(
      <ToolCallCard
        call={{ id: "1", name: "draw", arguments: "{}", input: {}, state }}
        estimate={estimate}
        onApprove={() => {}}
        onDeny={() => {}}
      />,
    );
  expect(render("needs-approval")).toContain("0.04 to 0.12 USD");
  expect(render("done")).not.toContain("USD");
});
