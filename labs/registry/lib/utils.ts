import { type ClassValue, clsx } from "clsx";

/** Joins class names. An app of shadcn has its own function of this name. */
export function cn(...classes: readonly ClassValue[]): string {
  return clsx(classes);
}
