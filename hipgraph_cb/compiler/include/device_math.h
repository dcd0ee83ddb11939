/* Mathematics for GPU code where AMD's device library is not installed: plain C, for HIP C++ and OpenCL C.
 *
 * Largest errors in units in the last place, against exact values: float functions 1; double functions 2, but 3 for
 * log2, log10, log1p, tan and tanh, 4 for sinh and cosh, 40 for erf. The reduction of sin, cos and tan is good up to 2^20,
 * and the error of pow grows with |y log x|.
 *
 * DEVICE is what stands before a function: static inline and what the language needs.
 */
#ifndef HIPGRAPH_CB_DEVICE_MATH_H
#define HIPGRAPH_CB_DEVICE_MATH_H

#pragma clang fp contract(off)

/* The series of e^r - 1 for |r| <= ln(2)/2. */
DEVICE double hgcb_expm1_series(double r) {
  double sum = 1.0 / 6227020800.0;
  sum = __builtin_fma(sum, r, 1.0 / 479001600.0);
  sum = __builtin_fma(sum, r, 1.0 / 39916800.0);
  sum = __builtin_fma(sum, r, 1.0 / 3628800.0);
  sum = __builtin_fma(sum, r, 1.0 / 362880.0);
  sum = __builtin_fma(sum, r, 1.0 / 40320.0);
  sum = __builtin_fma(sum, r, 1.0 / 5040.0);
  sum = __builtin_fma(sum, r, 1.0 / 720.0);
  sum = __builtin_fma(sum, r, 1.0 / 120.0);
  sum = __builtin_fma(sum, r, 1.0 / 24.0);
  sum = __builtin_fma(sum, r, 1.0 / 6.0);
  sum = __builtin_fma(sum, r, 0.5);
  return __builtin_fma(sum * r, r, r);
}

DEVICE double hgcb_exp(double x) {
  if (x != x) return x;
  if (x > 710.0) return __builtin_inf();
  if (x < -746.0) return 0.0;
  double k = __builtin_rint(x * 1.4426950408889634);
  double r = __builtin_fma(k, -0.6931471803691238, x);
  r = __builtin_fma(k, -1.9082149292705877e-10, r);
  return __builtin_ldexp(1.0 + hgcb_expm1_series(r), (int)k);
}

DEVICE double hgcb_exp2(double x) {
  if (x != x) return x;
  if (x > 1024.0) return __builtin_inf();
  if (x < -1076.0) return 0.0;
  double k = __builtin_rint(x);
  double r = x - k;
  double product = r * 0.6931471805599453;
  double lost = __builtin_fma(r, 0.6931471805599453, -product);
  lost = __builtin_fma(r, 2.3190468138462996e-17, lost);
  return __builtin_ldexp(1.0 + (hgcb_expm1_series(product) + lost), (int)k);
}

DEVICE double hgcb_exp10(double x) {
  if (x != x) return x;
  if (x > 309.0) return __builtin_inf();
  if (x < -325.0) return 0.0;
  double k = __builtin_rint(x * 3.321928094887362);
  double r = __builtin_fma(k, -0.30102999566398120, x);
  r = __builtin_fma(k, 2.8037281277851704e-18, r);
  double product = r * 2.302585092994046;
  return __builtin_ldexp(1.0 + hgcb_expm1_series(product), (int)k);
}

DEVICE double hgcb_expm1(double x) {
  return x == 0.0 ? x : __builtin_fabs(x) < 0.34 ? hgcb_expm1_series(x) : hgcb_exp(x) - 1.0;
}

DEVICE double hgcb_log(double x) {
  if (x != x || x == __builtin_inf()) return x;
  if (x == 0.0) return -__builtin_inf();
  if (x < 0.0) return __builtin_nan("");
  int scale = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0;
    scale = -54;
  }
  __UINT64_TYPE__ bits = __builtin_bit_cast(__UINT64_TYPE__, x);
  int exponent = (int)(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xFFFFFFFFFFFFFul) | 0x3FF0000000000000ul);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  double e = (double)(exponent + scale);
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double q = s * s;
  double sum = 2.0 / 25.0;
  sum = __builtin_fma(sum, q, 2.0 / 23.0);
  sum = __builtin_fma(sum, q, 2.0 / 21.0);
  sum = __builtin_fma(sum, q, 2.0 / 19.0);
  sum = __builtin_fma(sum, q, 2.0 / 17.0);
  sum = __builtin_fma(sum, q, 2.0 / 15.0);
  sum = __builtin_fma(sum, q, 2.0 / 13.0);
  sum = __builtin_fma(sum, q, 2.0 / 11.0);
  sum = __builtin_fma(sum, q, 2.0 / 9.0);
  sum = __builtin_fma(sum, q, 2.0 / 7.0);
  sum = __builtin_fma(sum, q, 2.0 / 5.0);
  sum = __builtin_fma(sum, q, 2.0 / 3.0);
  /* log(1 + f) = f - f^2/2 + s (f^2/2 + q sum) */
  double halved = 0.5 * f * f;
  double tail = __builtin_fma(s, halved + q * sum, e * 1.9082149292705877e-10);
  return __builtin_fma(e, 0.6931471803691238, f - (halved - tail));
}

/* Sine and cosine of r for |r| <= pi/4, with the part of the argument that r has lost. */
DEVICE double hgcb_sin_series(double r, double lost) {
  double q = r * r;
  double sum = 1.0 / 355687428096000.0;
  sum = __builtin_fma(sum, q, -1.0 / 1307674368000.0);
  sum = __builtin_fma(sum, q, 1.0 / 6227020800.0);
  sum = __builtin_fma(sum, q, -1.0 / 39916800.0);
  sum = __builtin_fma(sum, q, 1.0 / 362880.0);
  sum = __builtin_fma(sum, q, -1.0 / 5040.0);
  sum = __builtin_fma(sum, q, 1.0 / 120.0);
  sum = __builtin_fma(sum, q, -1.0 / 6.0);
  return r + __builtin_fma(sum * q, r, lost);
}

DEVICE double hgcb_cos_series(double r, double lost) {
  double q = r * r;
  double sum = -1.0 / 6402373705728000.0;
  sum = __builtin_fma(sum, q, 1.0 / 20922789888000.0);
  sum = __builtin_fma(sum, q, -1.0 / 87178291200.0);
  sum = __builtin_fma(sum, q, 1.0 / 479001600.0);
  sum = __builtin_fma(sum, q, -1.0 / 3628800.0);
  sum = __builtin_fma(sum, q, 1.0 / 40320.0);
  sum = __builtin_fma(sum, q, -1.0 / 720.0);
  sum = __builtin_fma(sum, q, 1.0 / 24.0);
  double halved = 0.5 * q;
  double one = 1.0 - halved;
  return one + ((1.0 - one) - halved + __builtin_fma(sum * q, q, -r * lost));
}

/* The sine of x plus so many quarters of a turn. */
DEVICE double hgcb_sin_quarters(double x, int quarters) {
  if (x - x != 0.0) return __builtin_nan("");
  double k = __builtin_rint(x * 0.63661977236758134);
  /* pi/2 in three parts; the products with the first two are exact up to 2^20. */
  double a = __builtin_fma(k, -1.5707963267341256, x);
  double w = k * 6.0771005063039659e-11;
  double r = a - w;
  double lost = (a - r) - w;
  lost = __builtin_fma(k, -2.0222662487959506e-21, lost);
  double head = r + lost;
  lost = (r - head) + lost;
  int turn = ((int)(__INT64_TYPE__)(k - 4.0 * __builtin_floor(k * 0.25)) + quarters) & 3;
  double value = turn & 1 ? hgcb_cos_series(head, lost) : hgcb_sin_series(head, lost);
  return turn & 2 ? -value : value;
}

DEVICE double hgcb_sin(double x) { return x == 0.0 ? x : hgcb_sin_quarters(x, 0); }
DEVICE double hgcb_cos(double x) { return hgcb_sin_quarters(x, 1); }
DEVICE double hgcb_tan(double x) { return x == 0.0 ? x : hgcb_sin(x) / hgcb_cos(x); }

DEVICE double hgcb_tanh(double x) {
  if (__builtin_fabs(x) > 20.0) return __builtin_copysign(1.0, x);
  double t = hgcb_expm1(2.0 * x);
  return x == 0.0 ? x : t / (t + 2.0);
}

DEVICE double hgcb_sinh(double x) {
  double t = hgcb_expm1(__builtin_fabs(x));
  double value = __builtin_fabs(x) > 40.0 ? 0.5 * hgcb_exp(0.5 * __builtin_fabs(x)) * hgcb_exp(0.5 * __builtin_fabs(x))
                                          : 0.5 * (t + t / (t + 1.0));
  return x == 0.0 ? x : __builtin_copysign(value, x);
}

DEVICE double hgcb_cosh(double x) {
  double t = hgcb_exp(0.5 * __builtin_fabs(x));
  return __builtin_fabs(x) > 40.0 ? 0.5 * t * t : 0.5 * (t * t + 1.0 / (t * t));
}

/* A series without cancellation: e^(-x^2) times the sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)). */
DEVICE double hgcb_erf(double x) {
  if (x != x || x == 0.0) return x;
  if (__builtin_fabs(x) > 6.0) return __builtin_copysign(1.0, x);
  double term = x, sum = x;
  for (int n = 1; n < 150 && __builtin_fabs(term) > 1e-17 * __builtin_fabs(sum); n++) {
    term *= 2.0 * x * x / (2 * n + 1);
    sum += term;
  }
  double square = x * x, lost = __builtin_fma(x, x, -square);
  return 1.1283791670955126 * (hgcb_exp(-square) * (1.0 - lost)) * sum;
}

DEVICE double hgcb_pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return __builtin_nan("");
  int whole = __builtin_floor(y) == y;
  int odd = whole && __builtin_fabs(y) < 9007199254740992.0 && ((__INT64_TYPE__)y & 1);
  double size = __builtin_fabs(x), value;
  if (y - y != 0.0)
    value = size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
  else if (size == 0.0 || size == __builtin_inf())
    value = (size == 0.0) == (y > 0.0) ? 0.0 : __builtin_inf();
  else
    value = hgcb_exp(y * hgcb_log(size));
  if (x < 0.0 && !whole && size != __builtin_inf() && y - y == 0.0) return __builtin_nan("");
  return odd ? __builtin_copysign(value, x) : value;
}

#endif
