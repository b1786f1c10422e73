// @vitest-environment node
import { GatewayProvider, useImages } from "@sluice/react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { createTestClient, stoppedClock } from "../../core/test/support/gateway.js";

function Painter() {
  const { status } = useImages({ id: "cover", model: "gamma-image-5-0-260128" });
  return <p>{status}</p>;
}

test("nothing is shared or cached on a server, and no timer runs", () => {
  const clock = stoppedClock();
  const { client, requests } = createTestClient(() => new Response(), { clock });
  const page = renderToString(
    <GatewayProvider client={client}>
      <Painter />
    </GatewayProvider>,
  );
  expect(page).toContain("idle");
  expect([clock.sleeping(), requests.length]).toEqual([0, 0]);
});
