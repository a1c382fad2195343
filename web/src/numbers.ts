// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause

// Three digits, without an exponent: "0.0123", "1.23", "123.4" is "123"; whole numbers as they are.
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return `${value}`.replace('-', '−');
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3))))));
  return value.toFixed(Math.min(digits, 6)).replace('-', '−');
}

const decimal = ['', 'k', 'M', 'G', 'T', 'P'];

// "12.3 M" of 12300000.
export function scaled(value: number): string {
  let step = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && step + 1 < decimal.length) {
    rest /= 1000;
    ++step;
  }
  return `${value < 0 ? '−' : ''}${short(rest)} ${decimal[step]}`;
}

// Counts: whole up to a hundred thousand.
export const whole = (value: number): string => (value < 1e5 ? `${Math.round(value)}` : scaled(value).trim());

// 10^6 bytes are 1 MB.
export const bytes = (value: number): string => `${scaled(value)}B`;

// 2^20 bytes are 1 MiB: for memory and sizes of messages.
export function binary(value: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let step = 0;
  while (value >= 1024 && step + 1 < names.length) {
    value /= 1024;
    ++step;
  }
  return `${short(value)} ${names[step]}`;
}

export const ratio = (value: number): string => value.toFixed(value < 0.0995 ? 3 : 2);

// "35 % less", "4 % more", "the same".
export function change(value: number): string {
  const percent = Math.round(Math.abs(value - 1) * 100);
  return percent === 0 ? 'the same' : `${percent} % ${value < 1 ? 'less' : 'more'}`;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
