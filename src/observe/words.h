// The parameters and arguments of a function that takes so many words, whatever they mean.
#pragma once

#define PARAMETERS_1(type) type a0
#define PARAMETERS_2(type) PARAMETERS_1(type), type a1
#define PARAMETERS_3(type) PARAMETERS_2(type), type a2
#define PARAMETERS_4(type) PARAMETERS_3(type), type a3
#define PARAMETERS_5(type) PARAMETERS_4(type), type a4
#define PARAMETERS_6(type) PARAMETERS_5(type), type a5
#define PARAMETERS_7(type) PARAMETERS_6(type), type a6
#define PARAMETERS_8(type) PARAMETERS_7(type), type a7
#define PARAMETERS_9(type) PARAMETERS_8(type), type a8
#define PARAMETERS_10(type) PARAMETERS_9(type), type a9
#define PARAMETERS_11(type) PARAMETERS_10(type), type a10
#define PARAMETERS_12(type) PARAMETERS_11(type), type a11
#define PARAMETERS_13(type) PARAMETERS_12(type), type a12
#define WORDS_1 a0
#define WORDS_2 WORDS_1, a1
#define WORDS_3 WORDS_2, a2
#define WORDS_4 WORDS_3, a3
#define WORDS_5 WORDS_4, a4
#define WORDS_6 WORDS_5, a5
#define WORDS_7 WORDS_6, a6
#define WORDS_8 WORDS_7, a7
#define WORDS_9 WORDS_8, a8
#define WORDS_10 WORDS_9, a9
#define WORDS_11 WORDS_10, a10
#define WORDS_12 WORDS_11, a11
#define WORDS_13 WORDS_12, a12
