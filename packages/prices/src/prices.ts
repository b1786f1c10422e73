import { isRecord } from "@sluice/core/extend";
import { readPrice } from "./money.js";

/** One price, or a price for each size or resolution: `{ "720p": 0.05, "1080p": 0.1 }`. Keys are case-insensitive. */
export type Price = number | { readonly [sizeOrResolution: string]: number };

/**
 * Prices of one model, in the currency of the table. Set only the prices that the model is billed with: `input` and
 * `output` for a chat model, `image` or `output` for an image model, `second` or `output` for a video model. A price
 * may have six decimals.
 */
export interface ModelPrices {
  /** Price of a million tokens of the request. */
  readonly input?: number;
  /** Price of a million tokens of the request from the gateway's cache. @default `input` */
  readonly cachedInput?: number;
  /**
   * Price of a million tokens of the response, including thinking. For an image or video model that is billed by
   * tokens: of a million tokens of its images or videos.
   */
  readonly output?: number;
  /** Price of one image, or prices by size: `{ "2048x2048": 0.03 }`. */
  readonly image?: Price;
  /** Price of one second of a video, or prices by resolution: `{ "720p": 0.05 }`. */
  readonly second?: Price;
  /** Price of one second of a video with a sound track. @default `second` */
  readonly secondWithAudio?: Price;
  /** Price of one second of a reference video. @default nothing */
  readonly inputSecond?: Price;
  /** Price of one registration of an asset. */
  readonly asset?: number;
}

/** The prices that an app pays. Sluice does not ship prices. Plain JSON. */
export interface Prices {
  /** Currency of all prices: a code for `Intl.NumberFormat`, `"EUR"`, or any name, `"credits"`. */
  readonly currency: string;
  /** Prices by the id of the model. */
  readonly models: { readonly [model: string]: ModelPrices };
}

/** Parsed prices of a model. Each field has one price, or a price for each size. */
export type Rates = { readonly [Field in keyof ModelPrices]: Rate };
type Rate = bigint | ReadonlyMap<string, bigint>;

/** A parsed table of prices. */
export interface RateTable {
  readonly currency: string;
  readonly models: ReadonlyMap<string, Rates>;
}

/** True for each field whose price may depend on a size or a resolution. */
const FIELDS: Readonly<Record<keyof ModelPrices, boolean>> = {
  input: false,
  cachedInput: false,
  output: false,
  image: true,
  second: true,
  secondWithAudio: true,
  inputSecond: true,
  asset: false,
};

/** Fields that require another field. */
const REQUIRED_FIELDS: Partial<Record<keyof ModelPrices, keyof ModelPrices>> = {
  cachedInput: "input",
  secondWithAudio: "second",
  inputSecond: "second",
};

const rateTables = new WeakMap<Prices, RateTable>();

/**
 * Checks a table of prices and returns it. Also use it for a table that comes from a server as JSON. Do not modify the
 * table later.
 *
 * @throws {TypeError} that names the field: an invalid or negative price, or a price below the sixth decimal; an
 *   unknown field; a model without prices
 * @example
 * ```ts
 * const prices = definePrices({
 *   currency: "EUR",
 *   models: {
 *     "delta-5.3": { input: 0.5, cachedInput: 0.05, output: 2 }, // a million tokens
 *     "gamma-image-5-0-260128": { image: 0.03 },
 *     "gamma-video-2.0": { second: { "480p": 0.02, "720p": 0.05, "1080p": 0.1, "4k": 0.4 } },
 *   },
 * });
 * ```
 */
export function definePrices<const Table extends Prices>(prices: Table): Table {
  readRateTable(prices);
  return prices;
}

/** Reads a table and caches the result. */
export function readRateTable(prices: Prices): RateTable {
  const known = isRecord(prices) ? rateTables.get(prices) : undefined;
  if (known) return known;
  const { currency, models } = isRecord(prices) ? prices : ({} as Partial<Prices>);
  if (typeof currency !== "string" || currency === "") throw createPriceError("currency", "give a text, EUR");
  if (!isRecord(models)) throw createPriceError("models", "give the prices of each model");
  const rates = Object.entries(models).map(
    ([model, row]) => [model, readRates(row, `models.${model}`)] as const,
  );
  const table = { currency, models: new Map(rates) };
  rateTables.set(prices, table);
  return table;
}

function readRates(row: unknown, path: string): Rates {
  if (!isRecord(row)) throw createPriceError(path, "give its prices, { input: 0.5, output: 2 }");
  const given = Object.entries(row).filter(([, price]) => price !== undefined);
  if (given.length === 0)
    throw createPriceError(path, "has no price; leave the model out if its prices are not known");
  const rates = given.map(([field, price]) => {
    if (!Object.hasOwn(FIELDS, field))
      throw createPriceError(`${path}.${field}`, `give one of ${Object.keys(FIELDS).join(", ")}`);
    const needed = REQUIRED_FIELDS[field as keyof ModelPrices];
    if (needed && row[needed] === undefined)
      throw createPriceError(`${path}.${field}`, `give ${needed} as well`);
    return [field, readRate(price, `${path}.${field}`, FIELDS[field as keyof ModelPrices])] as const;
  });
  const { input = 0n, cachedInput = 0n } = Object.fromEntries(rates) as Partial<Record<string, bigint>>;
  if (cachedInput > input)
    throw createPriceError(`${path}.cachedInput`, "is more than input; what is cached costs less");
  return Object.fromEntries(rates) as Rates;
}

function readRate(price: unknown, path: string, allowsSizes: boolean): Rate {
  if (!isRecord(price) || !allowsSizes) return assertPrice(price, path);
  const entries = Object.entries(price).map(
    ([size, value]) => [size.toLowerCase(), assertPrice(value, `${path}.${size}`)] as const,
  );
  if (entries.length === 0) throw createPriceError(path, "has no price");
  return new Map(entries);
}

function assertPrice(value: unknown, path: string): bigint {
  const price = readPrice(value);
  if (price === undefined) throw createPriceError(path, "give a number from 0 up, of six decimals");
  return price;
}

function createPriceError(path: string, text: string): TypeError {
  return new TypeError(`prices: ${path}: ${text}`);
}
