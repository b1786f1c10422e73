import { GatewayProvider, type Presence, type UseAssetOptions, useAsset } from "@sluice/react";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { expect, onTestFinished, test } from "vitest";
import { createTestClient, settled, stoppedClock } from "../../core/test/support/gateway.js";

const present: Presence = { absence: undefined, subscribe: () => () => {} };
let gateways = 0;

function createGateway(statuses: readonly string[]) {
  const clock = stoppedClock();
  // lets stores without components close their channels to other tabs
  onTestFinished(() => clock.advance(1000));
  let lookups = 0;
  gateways += 1;
  const { client, requests } = createTestClient(
    (sent) => {
      if (sent.url.endsWith("CreateAsset")) return Response.json({ Id: "a-1" });
      lookups += 1;
      return Response.json({ Id: "a-1", Status: statuses[Math.min(lookups, statuses.length) - 1] });
    },
    {
      clock,
      random: () => 0.5,
      baseURL: `https://assets-${gateways}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
    },
  );
  const creates = () => requests.filter(({ url }) => url.endsWith("CreateAsset")).length;
  return { client, clock, creates };
}

function Hero(props: Pick<UseAssetOptions, "assetId" | "onSuccess" | "onError">) {
  const { create, phase, status, data } = useAsset({ ...props, groupId: "group-1", presence: present });
  return (
    <>
      <output>{data?.uri ?? phase ?? status}</output>
      <button type="button" onClick={() => void create("https://files.test/hero.png")}>
        register
      </button>
    </>
  );
}

const shown = () => screen.getByRole("status").textContent;

test("registers once for a double click, also in StrictMode, and returns the uri", async () => {
  const { client, clock, creates } = createGateway(["Processing", "Active"]);
  render(
    <StrictMode>
      <GatewayProvider client={client}>
        <Hero />
      </GatewayProvider>
    </StrictMode>,
  );
  expect([shown(), creates()]).toEqual(["idle", 0]);
  fireEvent.click(screen.getByRole("button"));
  fireEvent.click(screen.getByRole("button"));
  expect(shown()).toBe("uploading");
  await waitFor(() => expect(shown()).toBe("processing"));
  await act(() => settled());
  await act(() => clock.advance(3000));
  await waitFor(() => expect(shown()).toBe("asset://a-1"));
  expect(creates()).toBe(1);
});

test("watches an existing asset, and sends nothing on a server", async () => {
  const { client } = createGateway(["Active"]);
  const app = (
    <GatewayProvider client={client}>
      <Hero assetId="a-1" />
    </GatewayProvider>
  );
  expect(renderToString(app)).toContain("idle");
  render(app);
  await waitFor(() => expect(shown()).toBe("asset://a-1"));
});

test.each([
  ["Active", "asset://a-1", "success"],
  ["Failed", "error", "error TaskError"],
])("an asset that is %s calls back once, however many components show it", async (word, shows, expected) => {
  const { client, clock } = createGateway(["Processing", word]);
  const reported: string[] = [];
  const hero = (
    <Hero
      assetId="a-1"
      onSuccess={() => reported.push("success")}
      onError={(error) => reported.push(`error ${error.name}`)}
    />
  );
  render(
    <StrictMode>
      <GatewayProvider client={client}>
        {hero}
        {hero}
      </GatewayProvider>
    </StrictMode>,
  );
  await act(() => settled());
  await act(() => clock.advance(3000));
  await waitFor(() => {
    expect(screen.getAllByRole("status").map(({ textContent }) => textContent)).toEqual([shows, shows]);
  });
  await act(() => settled());
  expect(reported).toEqual([expected]);
});
