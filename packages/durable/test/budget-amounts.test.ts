import { definePrices } from "@sluice/prices";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { type BudgetOptions, budget } from "../src/budgets/budget.js";
import { maxTokens } from "../src/budgets/max-tokens.js";
import { money } from "../src/budgets/money.js";
import { openBudget, openFile, setClock } from "./support/budget-proxy.js";
import { silenceLog } from "./support/stored-proxy.js";

expectLog("503 budget_unavailable");
beforeEach(() => setClock());

/** Imaginary prices. */
const table = definePrices({
  currency: "coins",
  models: {
    "delta-5.3": { input: 1, output: 4 },
    "gamma-image-4-0-250828": { image: { "1024x1024": 0.02, "4096x4096": 0.08 } },
    "beta3.0-video": { second: { "720P": 0.05, "1080P": 0.1 } },
  },
});
const prices = money(table);
const question = { model: "delta-5.3", messages: [], max_tokens: 1000 };
const countBytes = (body: object) => new TextEncoder().encode(JSON.stringify(body)).length;
/** A coin for a million bytes of the question, and four for a million tokens of a response; in millionths. */
const MAX_COST = countBytes(question) + 4000;
const videoRequest = { model: "beta3.0-video", parameters: { duration: 8, resolution: "720P" } };
const used = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };

/** A budget of one coin for each user and hour. */
function openMoney(options: Partial<BudgetOptions> = {}, file?: string) {
  const limits = { user: 1_000_000 };
  const opened = openBudget({
    options: { limits, prices, reserve: undefined, ...options },
    gateway: () => Response.json({ choices: [], usage: used }),
    ...(file && { file }),
  });
  const of = (body: Record<string, unknown>, route = "chat") =>
    [0, "ann", { body, route, model: String(body["model"]) }] as const;
  return {
    ...opened,
    reserve: (...reservation: Parameters<typeof of>) => opened.reserve(...of(...reservation)),
    paid: (...reservation: Parameters<typeof of>) => opened.paid(...of(...reservation)),
  };
}

describe("a budget in money", () => {
  test("reserves the most that a chat can cost, and spends its usage", async () => {
    const { paid, state } = openMoney();
    const reservation = await paid(question);
    expect(reservation).toMatchObject({ amount: MAX_COST });
    expect(await state()).toMatchObject({
      reserved: MAX_COST,
      spent: 0,
      unit: "millionths",
      currency: "coins",
    });
    expect(reservation.calculateCost?.(used)).toBe(410);
    await reservation.settle(used);
    expect(await state()).toMatchObject({ reserved: 0, spent: 410, remaining: 999_590 });
  });

  test("shows users the unit, and the event of a request what was reserved and spent", async () => {
    const { chat, budgets, events } = openMoney();
    await chat("ann", { max_tokens: 1000 });
    expect(await budgets()).toMatchObject([
      { by: "user", unit: "millionths", currency: "coins", limit: 1_000_000, spent: 410, reserved: 0 },
    ]);
    expect(events[0]).toMatchObject({ reserved: expect.any(Number), spent: 410 });
  });

  test("spends images by their number and size", async () => {
    const { paid, state } = openMoney();
    const image = {
      model: "gamma-image-4-0-250828",
      prompt: "A reef",
      size: "4096x4096",
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 4 },
    };
    const reservation = await paid(image, "images");
    expect(await state()).toMatchObject({ reserved: 320_000 });
    await reservation.settle({ generated_images: 3, output_tokens: 9, total_tokens: 9 });
    expect(await state()).toMatchObject({ spent: 240_000 });
  });

  test("spends a video in full, because its response has no usage", async () => {
    const { paid, reserve, state } = openMoney();
    await (await paid(videoRequest, "videos")).settle(undefined);
    expect(await state()).toMatchObject({ spent: 400_000, remaining: 600_000 });
    await (await paid(videoRequest, "videos")).release();
    await (await paid(videoRequest, "videos")).settle(undefined);
    expect(await reserve(videoRequest, "videos")).toMatchObject({ budget: "user", isShared: false });
  });

  test("never lets a hundred videos at once spend more than there is", async () => {
    const { reserve, state } = openMoney();
    const reservations = await Promise.all(
      Array.from({ length: 100 }, () => reserve(videoRequest, "videos")),
    );
    expect(reservations.filter((reservation) => "settle" in reservation)).toHaveLength(2);
    expect(await state()).toMatchObject({ reserved: 800_000, remaining: 200_000 });
  });

  test("spends all that was reserved if the usage says no cost", async () => {
    const { paid, state } = openMoney();
    for (const odd of [{}, { prompt_tokens: null, completion_tokens: 5 }, { prompt_tokens: -1 }])
      await (await paid(question)).settle(odd);
    expect(await state()).toMatchObject({ reserved: 0, spent: 3 * MAX_COST });
  });

  test("sends nothing that the prices don't bound, and the log names the model", async () => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    const { chat, sent, reserve } = openMoney();
    const { status, error } = await chat("ann", { model: "alpha-v4.1-flash" });
    expect([status, error?.["code"], sent.length]).toEqual([503, "budget_unavailable", 0]);
    expect(lines.join()).toContain("prices: do not bound alpha-v4.1-flash");
    log.mockRestore();
    const image = { model: "gamma-image-4-0-250828", size: "4096x4096", sequential_image_generation: "auto" };
    await expect(reserve(image, "images")).rejects.toThrow("give `reserve`");
  });

  test("calls `reserve` for what the prices don't bound, once for each response", async () => {
    const { paid } = openMoney({ reserve: ({ route }) => (route === "media" ? 7 : 500) });
    expect(await paid({ bytes: 1 }, "media")).toMatchObject({ amount: 7 });
    expect(await paid({ ...question, model: "new-1", n: 2 })).toMatchObject({ amount: 1000 });
    expect(await paid(question)).toMatchObject({ amount: MAX_COST });
  });

  test("rounds each amount up to a whole millionth", async () => {
    const cheap = { currency: "coins", models: { "delta-5.3": { input: 0.1, output: 0.3 } } };
    const { paid, state } = openMoney({ prices: money(cheap) });
    await (await paid(question)).settle({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
    expect(await state()).toMatchObject({ spent: 1 });
  });
});

describe("a budget in tokens", () => {
  test("reserves `max_tokens` and a token for each byte without any option", async () => {
    const { plugin, payable } = openBudget({ options: { limits: { user: 10_000 }, reserve: undefined } });
    const body = payable(1000).body ?? {};
    expect(await plugin.reserve(payable(1000))).toMatchObject({ amount: countBytes(body) + 1000 });
  });

  test("reserves `n` times as much for a request of `n` responses", async () => {
    const { paid, state, reserve } = openBudget();
    const many = (n: unknown) => [10, "ann", { body: { max_tokens: 10, n } }] as const;
    await paid(...many(4));
    expect(await state()).toMatchObject({ remaining: 60 });
    await paid(...many("3"));
    expect(await reserve(...many(4))).toHaveProperty("retryAfterMs");
    await expect(reserve(...many("1e400"))).rejects.toThrow("reserve");
    for (const n of [0, -5, null, "many"]) await (await paid(...many(n))).release();
    expect(await state()).toMatchObject({ remaining: 30 });
  });

  test("counts fractions in full", async () => {
    const { paid, state } = openBudget();
    await (await paid(10.2)).settle({ total_tokens: 10.1 });
    await paid(0.1);
    expect(await state()).toMatchObject({ spent: 11, reserved: 1 });
  });

  test("spends by your own `cost`, which never gets a null", async () => {
    const cost = ({ prompt_tokens, completion_tokens }: Record<string, unknown>) =>
      Number(prompt_tokens) + 3 * Number(completion_tokens);
    const { paid, state } = openBudget({ options: { cost } });
    await (await paid(30)).settle({ prompt_tokens: 2, completion_tokens: null });
    await (await paid(30)).settle({ prompt_tokens: 2, completion_tokens: 1, other: { some: null } });
    expect(await state()).toMatchObject({ unit: "own", spent: 35 });
  });

  test("spends all that was reserved if `cost` throws, and logs why", async () => {
    const log = silenceLog();
    const cost = () => {
      throw new Error("no price");
    };
    const { paid, state } = openBudget({ options: { cost } });
    await (await paid(60)).settle({ total_tokens: 1 });
    expect(await state()).toMatchObject({ spent: 60 });
    expect(log.join()).toContain("cost failed, and all that was reserved is spent: Error: no price");
  });
});

describe("maxTokens", () => {
  const tokens = maxTokens();
  const chat = (content: unknown, more: object = {}) => ({ body: { messages: [{ content }], ...more } });
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(100_000)}` } };

  test("bounds the tokens of Chinese text by its bytes (case 97)", () => {
    expect(tokens(chat("汉".repeat(1000)))).toBeGreaterThan(3000 + 8192);
  });

  test("counts an image by its number, and not by its bytes (case 97)", () => {
    const counted = tokens(chat([image, image], { max_tokens: 100 }));
    expect(counted).toBeGreaterThan(20_100);
    expect(counted).toBeLessThan(20_400);
    expect(maxTokens({ image: 5, response: 7 })(chat([image]))).toBeLessThan(200);
    const linked = { type: "image_url", image_url: { url: "https://a.example/a.png" } };
    expect(tokens(chat([linked]))).toBeGreaterThan(18_192);
  });

  test.each([
    ["a prompt", chat(image.image_url.url)],
    ["a part of a prompt", chat([{ type: "text", text: image.image_url.url }])],
    ["a tool", { body: { tools: [{ function: { parameters: { url: image.image_url.url } } }] } }],
  ])("counts a text that looks like an image by its bytes: %s (case 150)", (_, request) => {
    expect(tokens(request)).toBeGreaterThan(100_000);
  });
});

test("money is never added to tokens, nor to another currency", async () => {
  const file = openFile();
  const coins = openMoney({}, file);
  const { ticket = "" } = await coins.paid(videoRequest, "videos");
  await coins.close();
  for (const options of [{ prices: undefined }, { prices: money({ ...table, currency: "shells" }) }]) {
    const otherProcess = openMoney(options, file);
    expect(await otherProcess.state()).toMatchObject({ spent: 0, reserved: 0 });
    await (await otherProcess.paid(question)).settle(used);
    expect(await otherProcess.state()).toMatchObject({ spent: options.prices ? 410 : 110 });
    // a ticket from before the change settles where it reserved
    await otherProcess.plugin.settleTicket?.(ticket, 30, {});
    await otherProcess.close();
  }
  expect(await openMoney({}, file).state()).toMatchObject({ currency: "coins", spent: 30, reserved: 0 });
});

describe("a wrong option is refused when the server starts, and named", () => {
  const right: BudgetOptions = { limits: { user: 5 }, windowMs: 1000 };
  test.each<[string, object]>([
    ["windowMs: give a whole number of milliseconds", { windowMs: 0 }],
    ["windowMs: give a whole number of milliseconds", { windowMs: Number.POSITIVE_INFINITY }],
    ["reservationTtlMs: give a whole number of milliseconds", { reservationTtlMs: 0.5 }],
    ["limits: give some of user, session, address, all", { limits: {} }],
    ["limits.users: give one of user, session, address, all, or `by`", { limits: { users: 5 } }],
    ["limits.user: give a number from 0 up", { limits: { user: Number.NaN } }],
    ["limits.all: give a number from 0 up", { limits: { user: 5, all: -1 } }],
    ["limits.all: give a number from 0 up", { limits: { all: "5" } }],
    ["limits.user: its scope is fixed", { limits: { user: { limit: 5, by: () => "x" } } }],
    ["limits.all.shards: give a whole number from 1 up", { limits: { all: { limit: 5, shards: 0 } } }],
    ["limits.user.shards: the rows of one user have one key", { limits: { user: { limit: 5, shards: 2 } } }],
    ["limits.all.shard: is not an option", { limits: { all: { limit: 5, shard: 2 } } }],
    ["prices: give money(…)", { prices: { currency: "EUR", models: {} } }],
    ["reserve: give a function", { reserve: 5 }],
    ["reserve: `cost` needs it", { cost: () => 1 }],
    ["namespace: is not an option of budget", { namespace: () => undefined }],
  ])("%s", (message, options) => {
    expect(() => budget({ ...right, ...options } as BudgetOptions)).toThrow(message);
  });

  test("models.m-1.input", () => {
    const wrong = { currency: "EUR", models: { "m-1": { input: -1, output: 1 } } };
    expect(() => money(wrong)).toThrow("models.m-1.input");
  });

  test("response: give a whole number of tokens", () => {
    expect(() => maxTokens({ response: Number.NaN })).toThrow("response: give a whole number of tokens");
  });

  test("a reservation that ends before the longest response", () => {
    expect(() => openBudget({ options: { reservationTtlMs: 899_999 } })).toThrow(
      "reservationTtlMs: a response may take 900000 ms (timeout.totalMs); give more",
    );
  });

  test("a second budget in one proxy, and one budget in two", () => {
    const { plugin } = openBudget();
    expect(() => openBudget({ proxy: { plugins: [plugin] } })).toThrow("two of them reserve");
    expect(() => plugin.connect?.({} as never)).toThrow("budget: belongs to one proxy");
  });

  test("a budget that is in no proxy says so", async () => {
    const { read } = budget(right);
    await expect(read("user", { env: {}, user: { id: "ann" } })).rejects.toThrow("give it to createProxy");
  });
});
