export { errorMessages } from "@sluice/stores/de";
