rand("seed", 3);
a = rand(1200); b = a * a' + 1200 * eye(1200);
for i = 1:4 c = chol(b); d = c \ a; end
printf("sum %.6e\n", sum(abs(d(:))));
f = fft2(rand(2048)); printf("transform %.6e\n", abs(f(1, 1)) > 0);
